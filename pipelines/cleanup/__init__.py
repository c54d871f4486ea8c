"""clean, restore and purge: the only room that can move or delete a WAL."""
