"""Calls Hadoop's `FileSystem` in Spark's JVM for the clean-up: any scheme, HA nameservices, Kerberos."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from py4j.protocol import Py4JJavaError

from pipelines.cleanup.ports import Move
from pipelines.cleanup.stores.file_calls import FileCallError
from pipelines.cleanup.stores.store_failures import NOT_TRIED, OTHER, UNAVAILABLE, Failure, parse_failure
from pipelines.files.file_status import FileStatus
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.files.hadoop_listing import HadoopListing, parse_status
from pipelines.files.observer_reads import refuse_observer_reads

_PAGE = 5_000
_WORTH_A_LISTING = 50
_GONE = Failure("FileNotFoundException", "its directory does not show it")
_DONE, _FAILED = "+", "-"
_T = TypeVar("_T")
_CLASS = "walsafe.HadoopCalls"
_SOURCE = r"""
package walsafe;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.regex.Pattern;
import org.apache.commons.io.IOUtils;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;

/** Each method answers with one text: "+" and the result, or "-" and the exception. */
public class HadoopCalls {
    public String status(FileSystem files, String path) {
        try {
            FileStatus status = files.getFileLinkStatus(new Path(path));
            String kind = status.isFile() ? "f" : status.isDirectory() ? "d" : "l";
            return "+" + kind + "," + status.getLen() + "," + status.getModificationTime();
        } catch (Throwable problem) {
            return "-" + problem;
        }
    }

    /** FileContext's rename is atomic on HDFS. */
    public String rename(FileContext context, String source, String target, boolean replaces) {
        try {
            Options.Rename[] options = new Options.Rename[replaces ? 1 : 0];
            if (replaces) {
                options[0] = Options.Rename.OVERWRITE;
            }
            context.rename(new Path(source), new Path(target), options);
            return "+";
        } catch (Throwable problem) {
            return "-" + problem;
        }
    }

    public String statuses(FileSystem files, String paths, String unavailable) {
        Answers answers = new Answers(unavailable);
        String[] each = paths.split("\0");
        for (int i = 0; i < each.length && !answers.end; i++) {
            answers.add(status(files, each[i]));
        }
        return answers.text.toString();
    }

    public String renames(FileContext context, String ends, String unavailable) {
        Answers answers = new Answers(unavailable);
        String[] each = ends.split("\0");
        for (int i = 0; i < each.length && !answers.end; i += 2) {
            answers.add(rename(context, each[i], each[i + 1], false));
        }
        return answers.text.toString();
    }

    public String deleteFiles(FileSystem files, String paths, String other, String unavailable) {
        Answers answers = new Answers(unavailable);
        String[] each = paths.split("\0");
        for (int i = 0; i < each.length && !answers.end; i++) {
            answers.add(delete(files, each[i], false, other));
        }
        return answers.text.toString();
    }

    /** Each answer and a \0; they end after one that says that the file system does not answer. */
    private static class Answers {
        final StringBuilder text = new StringBuilder();
        final Pattern last;
        boolean end;

        Answers(String unavailable) {
            last = Pattern.compile(unavailable);
        }

        void add(String answer) {
            text.append(answer.replace('\0', ' ')).append('\0');
            end = answer.startsWith("-") && last.matcher(answer.split("\n", 2)[0]).find();
        }
    }

    public String delete(FileSystem files, String path, boolean isDirectory, String other) {
        try {
            FileStatus status = files.getFileLinkStatus(new Path(path));
            if (isDirectory ? !status.isDirectory() : !status.isFile()) {
                return "-" + other;
            }
            files.delete(new Path(path), false);
            return "+";
        } catch (Throwable problem) {
            return "-" + problem;
        }
    }

    public String makeDirectory(FileSystem files, String path) {
        try {
            return files.mkdirs(new Path(path)) ? "+" : "-java.io.IOException: it could not be made a directory";
        } catch (Throwable problem) {
            return "-" + problem;
        }
    }

    public String writeNew(FileSystem files, String path, String text) {
        OutputStream out;
        try {
            out = files.create(new Path(path), false);
        } catch (Throwable problem) {
            return "-" + problem;
        }
        try {
            out.write(text.getBytes("UTF-8"));
            out.close();
            return "+";
        } catch (Throwable problem) {
            return "-java.io.IOException: created, but perhaps not written: " + problem;
        }
    }

    public String read(FileSystem files, String path) {
        try {
            InputStream in = files.open(new Path(path));
            try {
                return "+" + IOUtils.toString(in, "UTF-8");
            } finally {
                in.close();
            }
        } catch (Throwable problem) {
            return "-" + problem;
        }
    }
}
"""


class HadoopCalls:
    """Implements `FileCalls` over one Hadoop file system, which is opened for these calls alone.

    Args:
        hadoop: the interface to Spark's JVM.
        root: a full URI on the file system.
        properties: Hadoop properties, in addition to those with which Spark was started.

    Raises:
        UsageError: there is no file system for that URI, or an observer may answer reads.
        UnavailableError: the file system cannot be reached.
    """

    def __init__(self, hadoop: HadoopJvm, root: str, properties: Mapping[str, str] | None = None) -> None:
        self._root = root
        fs = hadoop.view.org.apache.hadoop.fs
        with java_errors(root):
            conf = hadoop.view.org.apache.hadoop.conf.Configuration(hadoop.conf)
            for name, value in (properties or {}).items():
                conf.set(name, value)
        refuse_observer_reads(
            hadoop, conf, root, "wal_root", "key {0} of capture.files.properties, or Spark property spark.hadoop.{0}"
        )
        with java_errors(root):
            uri = hadoop.path(root).toUri()
            # a new instance: a cached one would ignore the properties
            self._files = fs.FileSystem.newInstance(uri, conf)
            self._context = fs.FileContext.getFileContext(uri, conf)
            self._java = hadoop.compiled(_CLASS, _SOURCE)
            self._listing = HadoopListing(hadoop, self._files)

    def status(self, uri: str) -> FileStatus:
        """See `FileCalls.status`."""
        return parse_status(self._answer(uri, self._java.status, self._files, uri))

    def statuses(self, uris: Sequence[str]) -> list[FileStatus | Failure]:
        """See `ManyCalls.statuses`."""
        places: dict[str, list[int]] = defaultdict(list)
        for place, uri in enumerate(uris):
            places[uri.rpartition("/")[0]].append(place)
        answers: dict[int, FileStatus | Failure] = {}
        for directory, own in places.items():
            shown = self._listed(directory, [uris[place].rpartition("/")[2] for place in own])
            answers |= zip(own, shown or self._asked([uris[place] for place in own]), strict=True)
        return [answers[place] for place in range(len(uris))]

    def _asked(self, uris: Sequence[str]) -> list[FileStatus | Failure]:
        answers = self._answers(uris, lambda rest: self._java.statuses(self._files, "\0".join(rest), UNAVAILABLE))
        return [parse_status(answer) if isinstance(answer, str) else answer for answer in answers]

    def _listed(self, directory: str, names: Sequence[str]) -> list[FileStatus | Failure]:
        """Returns what a listing of the directory shows; empty = they are few, or it cannot be listed."""
        if len(names) >= _WORTH_A_LISTING:
            with java_errors(directory), suppress(Py4JJavaError):
                shown = self._listing.look(directory, names)
                return [_GONE if one is None else one for one in shown or ()]
        return []

    def pages(self, uri: str) -> Iterator[Sequence[FileStatus]]:
        """See `FileCalls.pages`."""
        with java_errors(uri):
            try:
                yield from self._listing.pages(uri, _PAGE)
            except Py4JJavaError as error:
                # not the cause of the exception: a key file that is missing on this machine must not end the listing as
                # if it were complete
                raise FileCallError(parse_failure(str(error.java_exception.toString()))) from error

    def rename(self, source: str, target: str) -> None:
        """See `FileCalls.rename`."""
        self._answer(source, self._java.rename, self._context, source, target, False)

    def rename_file(self, source: str, target: str) -> None:
        """See `FileCalls.rename_file`."""
        _raise_failure(self.rename_files([Move(source, target)]))

    def rename_files(self, moves: Sequence[Move]) -> list[Failure | None]:
        """See `ManyCalls.rename_files`; looks at all sources together, just before their renames."""

        def call(rest: Sequence[Move]) -> JavaObject:
            ends = "\0".join(end for move in rest for end in (move.source, move.target))
            return self._java.renames(self._context, ends, UNAVAILABLE)

        answers = [_not_a_file(look) for look in self.statuses([move.source for move in moves])]
        places = [place for place, answer in enumerate(answers) if answer is None]
        if any(answer is not None and answer.unavailable for answer in answers):
            return [answer or parse_failure(NOT_TRIED) for answer in answers]
        for place, answer in zip(places, self._answers([moves[place] for place in places], call), strict=True):
            answers[place] = answer if isinstance(answer, Failure) else None
        return answers

    def delete_files(self, uris: Sequence[str]) -> list[Failure | None]:
        """See `ManyCalls.delete_files`."""

        def call(rest: Sequence[str]) -> JavaObject:
            return self._java.deleteFiles(self._files, "\0".join(rest), OTHER, UNAVAILABLE)

        return [None if isinstance(answer, str) else answer for answer in self._answers(uris, call)]

    def replace(self, source: str, target: str) -> None:
        """See `FileCalls.replace`."""
        self._answer(source, self._java.rename, self._context, source, target, True)

    def delete_file(self, uri: str) -> None:
        """See `FileCalls.delete_file`."""
        _raise_failure(self.delete_files([uri]))

    def delete_directory(self, uri: str) -> None:
        """See `FileCalls.delete_directory`."""
        self._answer(uri, self._java.delete, self._files, uri, True, OTHER)

    def make_directory(self, uri: str) -> None:
        """See `FileCalls.make_directory`."""
        self._answer(uri, self._java.makeDirectory, self._files, uri)

    def write_new(self, uri: str, text: str) -> None:
        """See `FileCalls.write_new`; the name node lets only one caller create a file."""
        self._answer(uri, self._java.writeNew, self._files, uri, text)

    def read(self, uri: str) -> str:
        """See `FileCalls.read`."""
        return self._answer(uri, self._java.read, self._files, uri)

    def close(self) -> None:
        """See `FileCalls.close`."""
        with java_errors(self._root):
            self._files.close()

    def _answers(self, elements: Sequence[_T], call: Callable[[Sequence[_T]], JavaObject]) -> list[str | Failure]:
        """Returns the result or failure of each element."""
        answers: list[str | Failure] = []
        while len(answers) < len(elements):
            with java_errors(self._root):
                texts = str(call(elements[len(answers) :])).split("\0")[:-1]
            answers += [
                parse_failure(text.removeprefix(_FAILED)) if text.startswith(_FAILED) else text.removeprefix(_DONE)
                for text in texts
            ]
            if isinstance(answers[-1], Failure) and answers[-1].unavailable:
                answers += [parse_failure(NOT_TRIED)] * (len(elements) - len(answers))
        return answers

    def _answer(self, uri: str, method: JavaObject, *arguments: JavaObject) -> str:
        with java_errors(uri):
            text = str(method(*arguments))
        if text.startswith(_FAILED):
            raise FileCallError(parse_failure(text.removeprefix(_FAILED)))
        return text.removeprefix(_DONE)


def _raise_failure(answers: Iterable[Failure | None]) -> None:
    for failure in filter(None, answers):
        raise FileCallError(failure)


def _not_a_file(look: FileStatus | Failure) -> Failure | None:
    """Returns why a path is not to be renamed; None = it is a file."""
    if isinstance(look, Failure):
        return look
    return None if look.is_file else parse_failure(OTHER)
