"""DataFrame to DataFrame: no session is built, nothing is read or written here."""
