"""What Python itself does with abstract values: arithmetic, conditions, names, arguments."""
