"""The clean, restore and purge jobs; the only package that can move or delete a WAL."""
