"""Checks that sums of rows fit the table and that no row is incomplete."""

import logging

from pipelines.common.errors import UsageError
from pipelines.common.human import human_count
from pipelines.pegasus.domain.rows import Placement, RowKind, Tallies
from pipelines.pegasus.domain.verify.compare import faulty_places

_LOG = logging.getLogger(__name__)


def check_tallies(tallies: Tallies, uri: str, placement: Placement) -> Tallies:
    """Checks the sums of a table's rows, and returns them unchanged.

    Raises:
        UsageError: a row belongs to a partition that the table does not have, or a row lacks a column.
    """
    for kind, words in (
        (RowKind.OUT_OF_RANGE, f"rows of partition {{index}}, but the given partition count is {placement.count}"),
        (RowKind.INCOMPLETE, "rows without a partition_index, key or value (such as one of partition {index})"),
    ):
        places = faulty_places(tallies, kind)
        if places:
            raise UsageError(f"{uri}: {words.format(index=places[0].index)}; docs/split-rows.md has the format")
    total = sum(tally.rows for tally in tallies.values())
    _LOG.info("%s: %s counted", uri, human_count(total, "row"))
    return tallies
