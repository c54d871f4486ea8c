"""Tries to break the protocol of a partition split, which `pipelines/pegasus/simulate` plays.

`search` tries every order of events, `injections` is the failure table, `batch` the unit of work; `report` reports what
was found. `cases` has good and broken splits for the five audits, `audits` runs the audits on them, `audit_matrix`
shows which audit detected which (docs/split-model.md).
"""
