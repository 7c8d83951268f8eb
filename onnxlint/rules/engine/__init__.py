"""The libcst pass: parsing, metadata, the traversal, findings and fixes."""
