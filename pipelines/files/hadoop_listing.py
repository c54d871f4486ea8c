"""Lists directories through Hadoop's `FileSystem` in pages, with one py4j call for each page.

`listStatus` of a directory with millions of files needs some 700 bytes of heap for each; `listStatusIterator` fetches
pages. A loop in Python over it would need several py4j calls for each file, so a class in the JVM makes the text of a
page.
"""

from collections.abc import Iterator, Sequence

from pipelines.files.file_status import FileStatus
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject

PAGE = 10_000
_CLASS = "walsafe.HadoopListing"
_SOURCE = r"""
package walsafe;

import java.io.IOException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.RemoteIterator;

public class HadoopListing {
    /** The next entries, one in each line; empty at the end of the directory. */
    public String page(RemoteIterator statuses, int most) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (int count = 0; count < most && statuses.hasNext(); count++) {
            FileStatus status = (FileStatus) statuses.next();
            String kind = status.isFile() ? "file" : status.isDirectory() ? "directory" : "link";
            String name = status.getPath().getName().replace("%", "%25").replace("\n", "%0A");
            lines.append(kind).append(',').append(status.getLen()).append(',');
            lines.append(status.getModificationTime()).append(',').append(name).append('\n');
        }
        return lines.toString();
    }
}
"""


class HadoopListing:
    """Lists directories of one Hadoop `FileSystem`.

    Args:
        hadoop: the interface to Spark's JVM.
        files: the file system.
    """

    def __init__(self, hadoop: HadoopJvm, files: JavaObject) -> None:
        self._hadoop = hadoop
        self._files = files
        self._java = hadoop.compiled(_CLASS, _SOURCE)

    def pages(self, uri: str, page: int = PAGE) -> Iterator[Sequence[FileStatus]]:
        """Yields the elements of a directory in pages.

        Args:
            uri: the URI of the directory.
            page: the largest number of elements fetched at a time.

        Raises:
            Py4JJavaError: there is no such directory, or the file system refused.
        """
        statuses = self._files.listStatusIterator(self._hadoop.path(uri))
        while lines := str(self._java.page(statuses, page)).split("\n")[:-1]:
            yield [parse_status(line) for line in lines]
            if len(lines) < page:
                return


def parse_status(line: str) -> FileStatus:
    """Parses `kind,length,modification time,name`, in which the name escapes line ends."""
    kind, length, modified, name = line.split(",", 3)
    is_directory = kind == "directory"
    plain = name.replace("%0A", "\n").replace("%25", "%")
    return FileStatus(plain, kind == "file", is_directory, 0 if is_directory else int(length), int(modified))
