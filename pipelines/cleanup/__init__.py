"""Contains the clean, restore and purge jobs; no other package can move or delete a WAL."""
