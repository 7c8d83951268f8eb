"""The abstract domain and the places that its values come from."""
