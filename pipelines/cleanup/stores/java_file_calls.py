"""Method handles for the clean-up's calls on one file, through Hadoop's classes, or java.nio for the local disk.

For `file:` Hadoop starts a `readlink` process for each status, and still treats a symbolic link as its target.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.stores.java_handles import JavaHandles
from pipelines.cleanup.stores.wal_walk import Listed
from pipelines.files.hadoop_jvm import JavaObject

_STRING, _OBJECT = "java.lang.String", "java.lang.Object"
_PATH, _STATUS, _FILES = (
    "org.apache.hadoop.fs.Path",
    "org.apache.hadoop.fs.FileStatus",
    "org.apache.hadoop.fs.FileSystem",
)
_NIO_PATH, _NIO, _OPTIONS = "java.nio.file.Path", "java.nio.file.Files", "[Ljava.nio.file.LinkOption;"


@dataclass(frozen=True, slots=True)
class FileCalls:
    """Method handles over a Java type P of paths.

    Attributes:
        text: converts a URI to the argument of `parse`.
        parse: `(String) -> P`.
        describe: `(P) -> String` for `parse_described`; does not follow symbolic links; throws if nothing is there.
        rename: `(P, P) -> void`; never replaces, never moves into a directory, creates no parent.
        delete: `(P) -> void`; deletes a directory only if it is empty.
        open: returns an iterator over a directory, given by its URI.
        has_next: `(iterator) -> boolean`.
        describe_next: `(iterator) -> String`, as `describe`, with the name at the end.
    """

    text: Callable[[str], str]
    parse: JavaObject
    describe: JavaObject
    rename: JavaObject
    delete: JavaObject
    open: Callable[[str], JavaObject]
    has_next: JavaObject
    describe_next: JavaObject


def parse_described(text: str) -> Listed:
    """Parses the text that `describe` and `describe_next` return."""
    is_file, is_directory, length, modified, *name = text.split(",", 4)
    return Listed(name[0] if name else "", is_file == "true", is_directory == "true", int(length), int(modified))


def hadoop_calls(handles: JavaHandles, files: JavaObject, context: JavaObject) -> FileCalls:
    """Returns calls through a `FileSystem`, with the rename of a `FileContext`, which is atomic on HDFS."""
    hadoop = handles.hadoop
    status = handles.virtual(_FILES, "getFileLinkStatus", _STATUS, _PATH).bindTo(files)
    flag = handles.static(_STRING, "valueOf", _STRING, "boolean")
    number = handles.static(_STRING, "valueOf", _STRING, "long")
    described = handles.after(
        _joining(handles, 4),
        handles.then(handles.virtual(_STATUS, "isFile", "boolean"), flag),
        handles.then(handles.virtual(_STATUS, "isDirectory", "boolean"), flag),
        handles.then(handles.virtual(_STATUS, "getLen", "long"), number),
        handles.then(handles.virtual(_STATUS, "getModificationTime", "long"), number),
    )
    name = handles.then(handles.virtual(_STATUS, "getPath", _PATH), handles.virtual(_PATH, "getName", _STRING))
    options = "org.apache.hadoop.fs.Options$Rename"
    rename = handles.virtual("org.apache.hadoop.fs.FileContext", "rename", "void", _PATH, _PATH, f"[L{options};")
    none = hadoop.gateway.new_array(hadoop.view.org.apache.hadoop.fs.Options.Rename, 0)
    delete = handles.virtual(_FILES, "delete", "boolean", _PATH, "boolean").bindTo(files)
    iterator = "org.apache.hadoop.fs.RemoteIterator"
    following = handles.virtual(iterator, "next", _OBJECT).asType(handles.signature(_STATUS, iterator))
    return FileCalls(
        text=str,
        parse=handles.constructor(_PATH, _STRING),
        describe=handles.then(status, described),
        rename=handles.given(rename.bindTo(context), 2, none),
        delete=handles.given(delete, 1, False).asType(handles.signature("void", _PATH)),
        open=lambda uri: files.listStatusIterator(hadoop.path(uri)),
        has_next=handles.virtual(iterator, "hasNext", "boolean"),
        describe_next=handles.then(following, handles.after(_joining(handles, 2), described, name)),
    )


def local_calls(handles: JavaHandles) -> FileCalls:
    """Returns calls through java.nio; checksum files that Hadoop may have written beside a file stay."""
    view, new_array = handles.hadoop.view, handles.hadoop.gateway.new_array
    nio = view.java.nio.file
    unfollowed = new_array(nio.LinkOption, 1)
    unfollowed[0] = nio.LinkOption.NOFOLLOW_LINKS
    flag = handles.static(_STRING, "valueOf", _STRING, "boolean")
    number = handles.static(_STRING, "valueOf", _STRING, "long")
    is_file = handles.given(handles.static(_NIO, "isRegularFile", "boolean", _NIO_PATH, _OPTIONS), 1, unfollowed)
    is_directory = handles.given(handles.static(_NIO, "isDirectory", "boolean", _NIO_PATH, _OPTIONS), 1, unfollowed)
    time = "java.nio.file.attribute.FileTime"
    modified = handles.given(handles.static(_NIO, "getLastModifiedTime", time, _NIO_PATH, _OPTIONS), 1, unfollowed)
    described = handles.after(
        _joining(handles, 4),
        handles.then(is_file, flag),
        handles.then(is_directory, flag),
        handles.then(handles.static(_NIO, "size", "long", _NIO_PATH), number),
        handles.then(modified, handles.virtual(time, "toMillis", "long"), number),
    )
    is_link = handles.static(_NIO, "isSymbolicLink", "boolean", _NIO_PATH)
    described = handles.when(is_link, handles.always("false,false,0,0", is_link), described)
    file_name = handles.virtual(_NIO_PATH, "getFileName", _NIO_PATH)
    name = handles.then(file_name, handles.virtual(_NIO_PATH, "toString", _STRING))
    move = handles.static(_NIO, "move", _NIO_PATH, _NIO_PATH, _NIO_PATH, "[Ljava.nio.file.CopyOption;")
    get = handles.static("java.nio.file.Paths", "get", _NIO_PATH, _STRING, "[Ljava.lang.String;")
    iterator = "java.util.Iterator"
    following = handles.virtual(iterator, "next", _OBJECT).asType(handles.signature(_NIO_PATH, iterator))
    no_texts = handles.array("String", [])
    return FileCalls(
        text=lambda uri: parse_uri(uri).path,
        parse=handles.given(get, 1, no_texts),
        describe=described,
        rename=handles.given(move, 2, new_array(nio.CopyOption, 0)).asType(
            handles.signature("void", _NIO_PATH, _NIO_PATH)
        ),
        delete=handles.static(_NIO, "delete", "void", _NIO_PATH),
        open=lambda uri: _elements(view, nio.Paths.get(parse_uri(uri).path, no_texts)),
        has_next=handles.virtual(iterator, "hasNext", "boolean"),
        describe_next=handles.then(following, handles.after(_joining(handles, 2), described, name)),
    )


def _elements(view: JavaObject, directory: JavaObject) -> JavaObject:
    stream = view.java.nio.file.Files.list(directory)
    try:
        return view.java.util.ArrayList(stream.collect(view.java.util.stream.Collectors.toList())).iterator()
    finally:
        stream.close()


def _joining(handles: JavaHandles, count: int) -> JavaObject:
    """Returns `(String, …) -> String`, which joins its arguments with commas."""
    concat = handles.virtual(_STRING, "concat", _STRING, _STRING)
    pair = handles.methods.filterArguments(concat, 1, handles.array("invoke.MethodHandle", [concat.bindTo(",")]))
    joined = pair
    for _ in range(count - 2):
        joined = handles.methods.collectArguments(joined, 0, pair)
    return joined
