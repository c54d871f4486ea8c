"""Lists directories through Hadoop's `FileSystem` in pages, with one py4j call for each page.

`listStatus` of a directory with millions of files needs some 700 bytes of heap for each; `listStatusIterator` fetches
pages. A loop in Python over it would need several py4j calls for each file, so a class in the JVM makes the text of a
page. On HDFS it asks Hadoop's `DFSClient`, which makes no URI of each name.
"""

import re
from collections.abc import Iterator, Sequence

from pipelines.files.file_status import FileStatus
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject

PAGE = 10_000
_FILE, _DIRECTORY = "f", "d"
_ESCAPED = re.compile(r"\\(.)")
_WORTH_A_PAGE = 50
"""A page of a listing takes about as long as so many calls for one path."""
_HDFS = "org.apache.hadoop.hdfs.DistributedFileSystem"
_CLASS, _HDFS_CLASS = "walsafe.HadoopListing", "walsafe.HdfsListing"
_SOURCE = r"""
package walsafe;

import java.io.IOException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

public class HadoopListing {
    private RemoteIterator statuses;

    public HadoopListing open(FileSystem files, String directory) throws IOException {
        HadoopListing opened = new HadoopListing();
        opened.statuses = files.listStatusIterator(new Path(directory));
        return opened;
    }

    /** The next entries by column: a line of kinds, of lengths, of times, then each name; empty at the end. */
    public String page(int most) throws IOException {
        StringBuilder kinds = new StringBuilder();
        StringBuilder lengths = new StringBuilder();
        StringBuilder times = new StringBuilder();
        StringBuilder names = new StringBuilder();
        for (int count = 0; count < most && statuses.hasNext(); count++) {
            FileStatus status = (FileStatus) statuses.next();
            kinds.append(status.isFile() ? 'f' : status.isDirectory() ? 'd' : 'l');
            lengths.append(status.getLen()).append(',');
            times.append(status.getModificationTime()).append(',');
            String name = status.getPath().getName().replace("\\", "\\\\").replace("\n", "\\n");
            names.append('\n').append(name);
        }
        return kinds.length() == 0 ? "" : kinds + "\n" + lengths + "\n" + times + names;
    }
}
"""
_HDFS_SOURCE = r"""
package walsafe;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.DFSUtilClient;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.DirectoryListing;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;

public class HdfsListing {
    private DFSClient client;
    private String directory;
    private byte[] after = new byte[0];
    private boolean more = true;

    public HdfsListing open(FileSystem files, String uri) throws IOException {
        HdfsListing opened = new HdfsListing();
        opened.client = ((DistributedFileSystem) files).getClient();
        opened.directory = new Path(uri).toUri().getPath();
        return opened;
    }

    /** The next entries as `HadoopListing.page` tells them, a few more than asked for. */
    public String page(int most) throws IOException {
        StringBuilder kinds = new StringBuilder();
        StringBuilder lengths = new StringBuilder();
        StringBuilder times = new StringBuilder();
        StringBuilder names = new StringBuilder();
        while (kinds.length() < most && more) {
            HdfsFileStatus[] found = next();
            for (int i = 0; i < found.length; i++) {
                HdfsFileStatus status = found[i];
                kinds.append(status.isSymlink() ? 'l' : status.isDirectory() ? 'd' : 'f');
                lengths.append(status.getLen()).append(',');
                times.append(status.getModificationTime()).append(',');
                String name = status.getLocalName().replace("\\", "\\\\").replace("\n", "\\n");
                names.append('\n').append(name);
            }
        }
        return kinds.length() == 0 ? "" : kinds + "\n" + lengths + "\n" + times + names;
    }

    /**
     * What a directory shows of some names, in their order, each with a \0: nothing where it has no such name, or where
     * the name node has no such directory. Null if too many other names lie between them.
     */
    public String look(FileSystem files, String uri, String names, int pages) throws IOException {
        HdfsListing listing = open(files, uri);
        String[] wanted = names.split("\0");
        byte[] last = null;
        // in the name node's order, in which bytes have a sign: a name with an umlaut is before one without
        for (int i = 0; i < wanted.length; i++) {
            byte[] name = wanted[i].getBytes("UTF-8");
            // without its last byte it sorts before the name
            byte[] before = Arrays.copyOf(name, name.length - 1);
            listing.after = i == 0 || DFSUtilClient.compareBytes(before, listing.after) < 0 ? before : listing.after;
            last = last == null || DFSUtilClient.compareBytes(name, last) > 0 ? name : last;
        }
        Map shown = new HashMap();
        for (int page = 0; listing.more && DFSUtilClient.compareBytes(listing.after, last) < 0; page++) {
            if (page == pages) {
                return null;
            }
            HdfsFileStatus[] found = listing.nextIfThere();
            if (found == null) {
                shown.clear();
                break;
            }
            for (int i = 0; i < found.length; i++) {
                shown.put(found[i].getLocalName(), told(found[i]));
            }
        }
        StringBuilder answers = new StringBuilder();
        for (int i = 0; i < wanted.length; i++) {
            Object one = shown.get(wanted[i]);
            answers.append(one == null ? "" : one).append('\0');
        }
        return answers.toString();
    }

    private HdfsFileStatus[] next() throws IOException {
        HdfsFileStatus[] found = nextIfThere();
        if (found == null) {
            throw new FileNotFoundException("File " + directory + " does not exist.");
        }
        return found;
    }

    private HdfsFileStatus[] nextIfThere() throws IOException {
        DirectoryListing part = client.listPaths(directory, after, false);
        if (part == null) {
            return null;
        }
        more = part.hasMore();
        after = part.getLastName();
        return part.getPartialListing();
    }

    private static String told(HdfsFileStatus status) {
        String kind = status.isSymlink() ? "l" : status.isDirectory() ? "d" : "f";
        return kind + "," + status.getLen() + "," + status.getModificationTime();
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
        # a file system that extends it, such as one with mount points, has another client or none
        self._hdfs = hadoop.compiled(_HDFS_CLASS, _HDFS_SOURCE) if files.getClass().getName() == _HDFS else None
        self._java = self._hdfs or hadoop.compiled(_CLASS, _SOURCE)

    def pages(self, uri: str, page: int = PAGE) -> Iterator[Sequence[FileStatus]]:
        """Yields the elements of a directory in pages.

        Args:
            uri: the URI of the directory.
            page: the number of elements fetched at a time, approximately.

        Raises:
            Py4JJavaError: there is no such directory, or the file system refused.
        """
        opened = self._java.open(self._files, uri)
        while statuses := parse_page(str(opened.page(page))):
            yield statuses
            if len(statuses) < page:
                return

    def look(self, directory: str, names: Sequence[str]) -> list[FileStatus | None] | None:
        r"""Returns what a directory of HDFS shows of some names, by a listing of the part in which they are.

        That takes a tenth of the time of a call for each. None = ask for each: the file system is none, or too many
        other names lie between them.

        Args:
            directory: the URI of the directory.
            names: names without \0.

        Raises:
            Py4JJavaError: there is no such directory, or the file system refused.
        """
        if self._hdfs is None:
            return None
        answer = self._hdfs.look(self._files, directory, "\0".join(names), 2 + len(names) // _WORTH_A_PAGE)
        if answer is None:
            return None
        return [parse_status(told) if told else None for told in str(answer).split("\0")[:-1]]


def parse_page(text: str) -> list[FileStatus]:
    """Parses a line of kinds (a letter each), of lengths and of times (each with a comma), and a line for each name."""
    if not text:
        return []
    kinds, lengths, times, *names = text.split("\n")
    if "\\" in text:
        names = [_ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], name) for name in names]
    sizes = [
        0 if kind == _DIRECTORY else int(length) for kind, length in zip(kinds, lengths.split(",")[:-1], strict=True)
    ]
    is_file, is_directory = [kind == _FILE for kind in kinds], [kind == _DIRECTORY for kind in kinds]
    modified = map(int, times.split(",")[:-1])
    return list(map(FileStatus._make, zip(names, is_file, is_directory, sizes, modified, strict=True)))


def parse_status(text: str) -> FileStatus:
    """Parses `kind,length,modification time` of a path whose name is known."""
    kind, length, modified = text.split(",")
    is_directory = kind == _DIRECTORY
    return FileStatus("", kind == _FILE, is_directory, 0 if is_directory else int(length), int(modified))
