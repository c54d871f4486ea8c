"""Contains the file stores through which the clean-up moves and deletes files."""
