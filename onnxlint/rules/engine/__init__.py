"""The libcst pass: parsing, the traversal, findings and fixes."""
