"""Parts that commands share: options, streams, exit codes, shards."""
