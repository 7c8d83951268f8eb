"""What exporters make of operators: unsupported, lowered wrong, or with a size made constant."""
