"""Takes a snapshot of a cluster in nine steps; contains the steps and the sources that they read."""
