"""clean, restore and purge: the only use cases that touch files of a cluster."""
