"""Tasks spread over workers: one map in order, on this machine or on many."""
