"""The rule: which file of oldWALs is deletable, and who holds it otherwise; HBase's own rule beside it."""
