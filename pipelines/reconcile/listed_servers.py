"""The servers whose live WALs a listing has."""

from collections import defaultdict
from contextlib import suppress

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.common.errors import MalformedError
from pipelines.hbase.server_names import ServerName

_SPLITTING = "-splitting"


def listed_servers(files: DataFrame) -> dict[str, frozenset[ServerName]]:
    """The servers with a file below `WALs/`, by cluster.

    A range of paths, so that Parquet skips row groups that have none: most of a listing is `oldWALs`.

    Args:
        files: `cluster` and `path` of listings.
    """
    live = files.where((F.col("path") >= "WALs/") & (F.col("path") < "WALs0"))
    directory = F.split("path", "/")[1].alias("directory")
    found: dict[str, set[ServerName]] = defaultdict(set)
    for row in live.select("cluster", directory).distinct().collect():
        with suppress(MalformedError):  # not a server's
            found[row["cluster"]].add(ServerName.parse(row["directory"].removesuffix(_SPLITTING)))
    return {cluster: frozenset(servers) for cluster, servers in found.items()}
