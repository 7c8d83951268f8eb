"""Which line explains a failure."""
