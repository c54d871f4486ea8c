"""The commands clean, restore and purge, and their wiring."""
