"""What the gate looks at: one small row of numbers per cluster, and what it answers."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class ClusterMetrics:
    """Aggregates of one cluster's decision; counts are files, sizes bytes. All are measured, none assumed.

    Attributes:
        files: of the listing, below oldWALs.
        bytes: theirs.
        listed_files: what the delete-safe list would hold: DELETABLE.
        listed_bytes: theirs.
        verdict_files: files with a verdict, summed over `verdict_totals`.
        verdict_bytes: theirs.
        rows_promised: rows of the listing, `WALs/` included, by snapshot.json.
        rows_read: rows that were read of it.
        duplicate_paths: rows that repeat a path.
        bad_paths: absolute, `..`, empty elements, control characters.
        bad_values: length or modification time null or negative.
        deletable_outside: DELETABLE, but not below oldWALs.
        undecided: no verdict or reason, or the reason UNDECIDED.
        deletable_and_blocking: DELETABLE with a holder.
        held_without_holder: PENDING with no holder.
        deletable_kept_by_hbase: DELETABLE, but HBase's own cleaner keeps it or throws; opt-ins of the configuration
            are not counted.
        share_from_bytes: with fewer bytes than this under oldWALs the share of the list says nothing.
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
        """A number that is missing (SUM of nothing is NULL) would pass for sound; it is a defect of the caller."""
        for field in fields(self)[1:]:
            if type(getattr(self, field.name)) is not int:
                raise TypeError(f"{self.cluster}: {field.name} is {getattr(self, field.name)!r}, no count")

    @property
    def deletable_share(self) -> float:
        """Share of all bytes under oldWALs that the list would hold; 0 where they are too few for it to mean much.

        A small healthy cluster may well have shipped everything just before HBase's own cleaner passes.
        """
        return self.listed_bytes / self.bytes if self.bytes and self.bytes >= self.share_from_bytes else 0.0


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """How one expectation went for one cluster: a row of `quality_results`, identity columns left out.

    Attributes:
        cluster: name of the cluster.
        expectation: name of the expectation, as --accept takes it.
        description: what it asserts.
        success: whether it held.
        observed: the value it looked at.
        unexpected_count: how many files broke it; 0 when it held.
        accepted: a person overruled it.
        accepted_reason: that person's words.
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
        """Whether the cluster must be refused because of it."""
        return not (self.success or self.accepted)
