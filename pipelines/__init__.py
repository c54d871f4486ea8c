"""walsafe's library: domain rules, Spark transforms, the ports and the edges that fill them."""
