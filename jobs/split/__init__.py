"""The jobs on Pegasus partition splits, and their wiring."""
