"""One module per report format: Report → str."""
