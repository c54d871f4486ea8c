"""What meta and the replica servers say of a cluster's tables at one moment."""
