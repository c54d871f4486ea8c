"""Tries to break the protocol of a partition split, which `pipelines/pegasus/simulate` plays.

`search` tries every order of events, `injections` is the failure table, `batch` the unit of work; `report` tells what
was found. `cases` are good and broken splits for the five audits, `audits` lets them read these, `audit_matrix` says
which of them saw what (docs/split-model.md).
"""
