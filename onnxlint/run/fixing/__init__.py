"""`--fix`: which fixes go together, whether they hold, and how they are written."""
