"""Table `dumped_hfile_refs`: bulk-loaded HFiles that a peer still has to receive, from `dump-queues`."""

from pyspark.sql.types import BooleanType, StringType, StructType

from schemas.table import Table, column, identity

DUMPED_HFILE_REFS = Table(
    "dumped_hfile_refs",
    "One row for each peer and bulk-loaded HFile that the peer has not received yet.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "The peer."),
            column("peer_exists", BooleanType(), "Whether the peer exists; if not, nobody will ever fetch the HFile."),
            column("hfile", StringType(), "Name of the HFile."),
        ]
    ),
)
