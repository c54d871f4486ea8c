"""The state of a cluster's tables at one moment, as meta and the replica servers report it."""
