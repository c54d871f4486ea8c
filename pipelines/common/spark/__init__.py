"""Small helpers around Spark frames; nothing of walsafe in them."""
