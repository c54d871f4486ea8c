"""The Protocol of the split jobs that read rows."""

from collections.abc import Collection
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.pegasus.domain.rows import RowKind, Tallies
from pipelines.pegasus.transforms.examined_rows import ExamineSettings


class RowReader(Protocol):
    """Reads directories of rows (docs/split-rows.md)."""

    def tally(self, uri: str, question: ExamineSettings) -> Tallies:
        """Returns the sums of all rows of a directory. The whole directory is read when it returns."""
        ...

    def details(
        self, uri: str, question: ExamineSettings, groups: Collection[int], kinds: Collection[RowKind]
    ) -> DataFrame:
        """Returns the single rows of some groups or of some kinds (`row_frames.DETAIL_SCHEMA`)."""
        ...
