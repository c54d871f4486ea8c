"""Finds the servers whose live WALs a listing contains."""

from collections import defaultdict
from contextlib import suppress

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.common.errors import MalformedError
from pipelines.hbase.server_names import ServerName

_SPLITTING = "-splitting"


def listed_servers(files: DataFrame) -> dict[str, frozenset[ServerName]]:
    """Returns the servers with a file below `WALs/`, by cluster.

    The filter is a range of paths, so Parquet skips row groups outside it: most of a listing is `oldWALs`.

    Args:
        files: `cluster` and `path` of listings.
    """
    live = files.where((F.col("path") >= "WALs/") & (F.col("path") < "WALs0"))
    directory = F.split("path", "/")[1].alias("directory")
    found: dict[str, set[ServerName]] = defaultdict(set)
    for row in live.select("cluster", directory).distinct().collect():
        with suppress(MalformedError):  # the directory is not named after a server
            found[row["cluster"]].add(ServerName.parse(row["directory"].removesuffix(_SPLITTING)))
    return {cluster: frozenset(servers) for cluster, servers in found.items()}
