"""The configuration file: its keys, what is wrong in it, and the options that it fills."""
