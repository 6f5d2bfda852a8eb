"""Training: settings, batches, objectives, the loop, and the state it resumes from."""
