"""The jobs clean, restore and purge, and their wiring."""
