"""Takes a snapshot of a cluster: the nine steps, and the sources that they read."""
