"""An offline split: which rows go where, and what the private log adds to them."""
