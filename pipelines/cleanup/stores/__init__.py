"""The file systems that the clean-up changes files on."""
