"""What the papers compare with: their baselines, and measures of their tables alone."""
