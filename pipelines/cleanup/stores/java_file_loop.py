"""Runs the calls of `java_file_calls` for many files in one py4j call, and lists directories page by page."""

from collections.abc import Iterable, Iterator, Sequence

from py4j.protocol import Py4JJavaError

from pipelines.cleanup.stores.java_file_calls import FileCalls, parse_described
from pipelines.cleanup.stores.java_handles import JavaHandles, JavaLoop, failed_step
from pipelines.cleanup.stores.store_failures import OTHER, Failure, failed, parse_failure
from pipelines.cleanup.stores.wal_walk import Listed
from pipelines.common.errors import UnavailableError
from pipelines.files.hadoop_jvm import JavaObject, java_cause, java_errors

PAGE = 5_000
_STRING = "java.lang.String"
# beginning of the description of a file and of a directory
_FILE, _DIRECTORY = "true,", "false,true,"


class JavaFileLoop:
    """Runs calls for many paths; answers are in the order of the paths, and a failure is the answer for its own path.

    Args:
        handles: of the JVM.
        calls: the calls on one file.
        threads: number of concurrent calls to the file system.
    """

    def __init__(self, handles: JavaHandles, calls: FileCalls, threads: int) -> None:
        self._handles = handles
        self._calls = calls
        self._loop = JavaLoop(handles, threads)

    def described(self, uris: Sequence[str], what: str) -> list[Listed | Failure]:
        """Returns what is at each path; a failure that is `gone` = nothing."""
        with java_errors(what):
            answers = self._loop.run(self._handles.then(self._paths(uris), self._calls.describe), len(uris))
        return [answer if isinstance(answer, Failure) else parse_described(answer) for answer in answers]

    def rename_files(self, sources: Sequence[str], targets: Sequence[str], what: str) -> list[Failure | None]:
        """Renames each path that is a file; the failure of any other is `OTHER`."""
        with java_errors(what):
            source = self._paths(sources)
            rename = self._handles.after(self._calls.rename, source, self._paths(targets))
            return self._only(_FILE, source, rename, len(sources))

    def rename(self, source: str, target: str, what: str) -> Failure | None:
        """Renames one path, whatever it is."""
        with java_errors(what):
            rename = self._handles.after(self._calls.rename, self._paths([source]), self._paths([target]))
            return _failures(self._loop.run(self._succeeding(rename), 1))[0]

    def delete_files(self, uris: Sequence[str], what: str) -> list[Failure | None]:
        """Deletes each path that is a file; the failure of any other is `OTHER`."""
        with java_errors(what):
            path = self._paths(uris)
            return self._only(_FILE, path, self._handles.then(path, self._calls.delete), len(uris))

    def delete_directories(self, uris: Sequence[str], what: str) -> list[Failure | None]:
        """Deletes each path that is an empty directory, one by one; the failure of any non-directory is `OTHER`."""
        with java_errors(what):
            path = self._paths(uris)
            remove = self._handles.then(path, self._calls.delete)
            return self._only(_DIRECTORY, path, remove, len(uris), parallel=False)

    def pages(self, directory: str) -> Iterator[Sequence[Listed]]:
        """See `Pages`."""
        what = f"listing {directory}"
        (before,) = self.described([directory], what)
        if isinstance(before, Failure) and not before.gone:
            raise failed(before, what)
        if isinstance(before, Failure) or not before.is_directory:
            return
        try:
            with java_errors(what):
                iterator = self._calls.open(directory)
        except UnavailableError as error:
            cause = error.__cause__
            if isinstance(cause, Py4JJavaError) and parse_failure(java_cause(cause)).gone:
                return
            raise
        with java_errors(what):
            step = self._next(iterator)
        while True:
            with java_errors(what):
                answers = self._loop.run(step, PAGE, parallel=False)
            failures = [answer for answer in answers if isinstance(answer, Failure)]
            for failure in failures:
                if not failure.gone:
                    raise failed(failure, what)
            page = [parse_described(answer) for answer in answers if isinstance(answer, str) and answer]
            if page:
                yield page
            # on the local disk single elements may have been deleted meanwhile; on HDFS it is the directory
            if "" in answers or any(failure.kind == "FileNotFoundException" for failure in failures):
                return

    def close(self) -> None:
        """Ends the threads."""
        self._loop.close()

    def _next(self, iterator: JavaObject) -> JavaObject:
        """Returns a step that reads the next element, for any index; an empty text = no element is left."""
        handles = self._handles
        end = handles.methods.constant(handles.java_class(_STRING), "")
        has_next = self._calls.has_next.bindTo(iterator)
        step = handles.when(has_next, self._calls.describe_next.bindTo(iterator), end)
        return handles.methods.dropArguments(step, 0, handles.listed([handles.java_class("int")]))

    def _paths(self, uris: Iterable[str]) -> JavaObject:
        """Returns `(int) -> P`."""
        return self._handles.then(self._handles.texts(map(self._calls.text, uris)), self._calls.parse)

    def _succeeding(self, handle: JavaObject) -> JavaObject:
        """Returns a step that runs the handle, which returns nothing, and answers with an empty text."""
        return self._handles.then(handle, self._handles.methods.constant(self._handles.java_class(_STRING), ""))

    def _only(
        self, kind: str, path: JavaObject, handle: JavaObject, count: int, *, parallel: bool = True
    ) -> list[Failure | None]:
        """Runs the handle for each path whose description begins with `kind`."""
        starts = self._handles.virtual(_STRING, "startsWith", "boolean", _STRING)
        test = self._handles.then(path, self._calls.describe, self._handles.given(starts, 1, kind))
        other = self._handles.always(failed_step(OTHER), path)
        step = self._handles.when(test, self._succeeding(handle), other)
        return _failures(self._loop.run(step, count, parallel=parallel))


def _failures(answers: Sequence[str | Failure]) -> list[Failure | None]:
    return [answer if isinstance(answer, Failure) else None for answer in answers]
