"""The abstract interpreter: statements, expressions, calls and objects."""
