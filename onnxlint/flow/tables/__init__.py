"""What the operators of torch do, for each version of torch."""
