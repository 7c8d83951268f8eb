"""What attributes, items and calls of a value give, by its kind: of libraries, builtins, containers and modules."""
