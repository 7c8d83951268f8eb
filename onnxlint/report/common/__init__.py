"""What several report formats share."""
