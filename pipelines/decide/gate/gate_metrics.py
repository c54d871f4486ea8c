"""Input and output of the gate: one small row of numbers per cluster, and the result of each expectation."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class ClusterMetrics:
    """Aggregates of one cluster's decision. Counts are files, sizes are bytes. All are measured, none is assumed.

    Attributes:
        files: files of the listing below oldWALs.
        bytes: their size.
        listed_files: DELETABLE files, which the delete-safe list would contain.
        listed_bytes: their size.
        verdict_files: files with a verdict, summed over `verdict_totals`.
        verdict_bytes: their size.
        rows_promised: rows of the listing according to snapshot.json, `WALs/` included.
        rows_read: rows of the listing that were read and decided, `WALs/` included.
        duplicate_paths: rows that repeat a path.
        bad_paths: paths that are null, absolute or without a `/`, or contain `.`, `..`, an empty element, a control
            character or a line end.
        bad_values: rows with a null length, a negative length or a null modification time.
        deletable_outside: DELETABLE files that are not below oldWALs.
        undecided: files without verdict or reason, or with the reason UNDECIDED.
        deletable_and_blocking: DELETABLE files with a holder.
        held_without_holder: PENDING files without a holder.
        deletable_kept_by_hbase: DELETABLE files that HBase's own cleaner keeps or throws on; files that an opt-in of
            the configuration releases are not counted.
        share_from_bytes: with fewer bytes than this under oldWALs, the share of the list means nothing.
    """

    cluster: str
    files: int
    bytes: int
    listed_files: int
    listed_bytes: int
    verdict_files: int
    verdict_bytes: int
    rows_promised: int
    rows_read: int
    duplicate_paths: int = 0
    bad_paths: int = 0
    bad_values: int = 0
    deletable_outside: int = 0
    undecided: int = 0
    deletable_and_blocking: int = 0
    held_without_holder: int = 0
    deletable_kept_by_hbase: int = 0
    share_from_bytes: int = 0

    def __post_init__(self) -> None:
        """Raises TypeError for a missing number (SUM of nothing is NULL): it would pass the gate. A caller's defect."""
        for field in fields(self)[1:]:
            if type(getattr(self, field.name)) is not int:
                raise TypeError(f"{self.cluster}: {field.name} is {getattr(self, field.name)!r}, no count")

    @property
    def deletable_share(self) -> float:
        """The share of all bytes under oldWALs that the list would contain; 0 below `share_from_bytes`.

        A small healthy cluster may have shipped every WAL just before HBase's own cleaner passes.
        """
        return self.listed_bytes / self.bytes if self.bytes and self.bytes >= self.share_from_bytes else 0.0


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """The result of one expectation for one cluster: a row of `quality_results` without the identity columns.

    Attributes:
        cluster: name of the cluster.
        expectation: name of the expectation, as `--accept` takes it.
        description: what the expectation asserts.
        success: whether the cluster meets it.
        observed: the value that was checked.
        unexpected_count: number of files that break it; 0 on success.
        accepted: whether the operator overruled it.
        accepted_reason: the operator's reason.
    """

    cluster: str
    expectation: str
    description: str
    success: bool
    observed: str
    unexpected_count: int
    accepted: bool = False
    accepted_reason: str | None = None

    @property
    def refuses(self) -> bool:
        """Whether the cluster must be refused because of this result."""
        return not (self.success or self.accepted)
