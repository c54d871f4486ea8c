"""Table `dumped_hfile_refs`: bulk-loaded HFiles that a peer still has to receive, from `dump-queues`."""

from pyspark.sql.types import BooleanType, StringType, StructType

from schemas.table import Table, column, identity

DUMPED_HFILE_REFS = Table(
    "dumped_hfile_refs",
    "One row for each peer and bulk-loaded HFile that it has not got yet.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "The peer."),
            column("peer_exists", BooleanType(), "False: nobody will ever fetch it."),
            column("hfile", StringType(), "Name of the HFile."),
        ]
    ),
)
