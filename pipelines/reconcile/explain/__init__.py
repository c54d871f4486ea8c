"""The explain job: who holds a file, a peer or a server, since when, and what would free it."""
