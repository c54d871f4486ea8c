"""Readers, one file per technology. Nothing here can delete or rename."""
