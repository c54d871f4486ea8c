"""Empty files in HDFS, many at a time: made by Spark's JVM, so that no call of Python stands between two of them."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from pyspark.sql import SparkSession

from pipelines.files.hadoop_jvm import HadoopJvm

CHUNK = 2_000
THREADS = 8
_SOURCE = """
package walsafe;

import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

public class FileMaker {
    public int make(FileSystem files, String paths) throws Exception {
        int made = 0;
        for (String path : paths.split("\\n")) {
            made += files.createNewFile(new Path(path)) ? 1 : 0;
        }
        return made;
    }
}
"""


def make_files(spark: SparkSession, root: str, paths: Iterable[str]) -> int:
    """Makes them, and their directories; how many there are.

    Args:
        spark: its JVM makes them.
        root: URI of a directory.
        paths: below it; none may exist.

    Raises:
        SystemExit: one could not be made.
    """
    hadoop = HadoopJvm.of(spark)
    files = hadoop.path(root).getFileSystem(hadoop.conf)
    maker = hadoop.compiled("walsafe.FileMaker", _SOURCE)
    remaining, chunks = iter(paths), []
    while chunk := [f"{root}/{name}" for name in islice(remaining, CHUNK)]:
        chunks.append(chunk)
    with ThreadPoolExecutor(THREADS) as pool:
        made = sum(pool.map(lambda chunk: int(maker.make(files, "\n".join(chunk))), chunks))
    if made < sum(map(len, chunks)):
        raise SystemExit("the files could not be made")
    return made
