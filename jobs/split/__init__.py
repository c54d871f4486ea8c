"""The commands on Pegasus partition splits, and their wiring."""
