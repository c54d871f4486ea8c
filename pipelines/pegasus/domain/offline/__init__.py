"""The offline split: which rows go to which partition, and which rows the private log adds."""
