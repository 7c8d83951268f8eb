"""What all stages of a probe use."""
