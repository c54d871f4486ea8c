"""The ports of the split jobs that work on rows, and of split-simulate."""

from collections.abc import Collection, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.pegasus.domain.rows import Kind, Tallies
from pipelines.pegasus.simulate.batch import Simulated
from pipelines.pegasus.transforms.examined_rows import Question


class RowReader(Protocol):
    """Reads directories of rows (docs/split-rows.md)."""

    def tally(self, uri: str, question: Question) -> Tallies:
        """The sums of all rows of a directory; it has been read whole then."""
        ...

    def details(self, uri: str, question: Question, groups: Collection[int], kinds: Collection[Kind]) -> DataFrame:
        """Its rows of some groups or of some kinds, one by one (`row_frames.DETAIL_SCHEMA`)."""
        ...


class Player(Protocol):
    """Plays the model, many subjects side by side."""

    def play(self, subjects: Sequence[str], design: str) -> Sequence[Simulated]:
        """What became of each (`simulate.batch.play`), in their order."""
        ...
