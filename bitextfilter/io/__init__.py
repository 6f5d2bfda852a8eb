"""Files, rows, batches and manifests: everything that touches the outside world."""
