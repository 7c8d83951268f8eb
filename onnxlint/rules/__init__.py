"""The libcst pass: a module `onx...` holds one rule; the contract of the same name under rules/ says what it finds."""
