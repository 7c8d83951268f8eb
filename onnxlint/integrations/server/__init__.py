"""The language server: findings in the editor, while the code is written."""
