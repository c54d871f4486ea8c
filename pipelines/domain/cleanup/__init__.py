"""The clean-up as values: what is safe to touch, who may, and what the audit says of it."""
