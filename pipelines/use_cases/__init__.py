"""One module per job; they know ports, transforms and rules, and no technology."""
