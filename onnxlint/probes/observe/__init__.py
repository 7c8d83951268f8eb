"""The model in eager PyTorch, observed."""
