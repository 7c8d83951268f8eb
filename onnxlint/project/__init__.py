"""The project index: modules, classes and functions across files."""
