"""Models with example inputs, and variations of these."""
