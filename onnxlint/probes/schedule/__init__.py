"""Which models are probed, when and where."""
