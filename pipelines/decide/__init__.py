"""The rule that decides which files of oldWALs are deletable and what holds the others, next to HBase's own rule."""
