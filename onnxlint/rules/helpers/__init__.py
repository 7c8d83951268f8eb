"""What several rules ask of a tree, or change in it."""
