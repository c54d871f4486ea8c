"""Documentation, and the script that generates part of it."""
