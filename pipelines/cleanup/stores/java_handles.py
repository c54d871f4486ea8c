"""Builds Java expressions from method handles, and loops over them inside the JVM.

A py4j call takes about 0.3 ms, which is too slow for one call per file. Here ten thousand elements take one call.
"""

import base64
from collections.abc import Callable, Iterable

from pipelines.cleanup.stores.store_failures import NOT_TRIED, UNAVAILABLE, Failure, parse_failure
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject

_FAILED = "!"  # no successful answer begins with it
_CHUNK = 10_000


class JavaHandles:
    """Creates method handles of public Java methods; types are given by name.

    py4j resolves a dotted name with one call for each dot, so everything looked up is cached.

    Args:
        hadoop: the JVM.
    """

    def __init__(self, hadoop: HadoopJvm) -> None:
        self.hadoop = hadoop
        self._lang = hadoop.view.java.lang
        self.methods = self._lang.invoke.MethodHandles
        self._lookup = self.methods.publicLookup()
        self._proxies = self._lang.invoke.MethodHandleProxies
        self._method_type = self._lang.invoke.MethodType
        self._list = hadoop.view.java.util.ArrayList
        self._split = hadoop.view.java.util.regex.Pattern.compile("\n")
        self._to_list = hadoop.view.java.util.stream.Collectors.toList()
        # the context class loader of the thread, because it knows the classes that came with --jars
        self._loader = self._lang.Thread.currentThread().getContextClassLoader()
        self._classes = {
            "void": self._lang.Void.TYPE,
            "boolean": self._lang.Boolean.TYPE,
            "int": self._lang.Integer.TYPE,
            "long": self._lang.Long.TYPE,
        }
        self._found: dict[tuple[str, ...], JavaObject] = {}

    def java_class(self, name: str) -> JavaObject:
        """Returns a class, or the type of a primitive."""
        if name not in self._classes:
            self._classes[name] = self._lang.Class.forName(name, True, self._loader)
        return self._classes[name]

    def signature(self, returns: str, *takes: str) -> JavaObject:
        """Returns a `MethodType`."""
        return self._once(
            ("signature", returns, *takes),
            lambda: self._method_type.methodType(self.java_class(returns), self.listed(map(self.java_class, takes))),
        )

    def virtual(self, owner: str, name: str, returns: str, *takes: str) -> JavaObject:
        """Returns a handle `(owner, takes…) -> returns` of an instance method."""
        return self._once(
            ("virtual", owner, name, returns, *takes),
            lambda: self._lookup.findVirtual(self.java_class(owner), name, self.signature(returns, *takes)),
        )

    def static(self, owner: str, name: str, returns: str, *takes: str) -> JavaObject:
        """Returns a handle `(takes…) -> returns` of a static method."""
        return self._once(
            ("static", owner, name, returns, *takes),
            lambda: self._lookup.findStatic(
                self.java_class(owner), name, self.signature(returns, *takes)
            ).asFixedArity(),
        )

    def constructor(self, owner: str, *takes: str) -> JavaObject:
        """Returns a handle `(takes…) -> owner` of a constructor."""
        return self._lookup.findConstructor(self.java_class(owner), self.signature("void", *takes))

    def given(self, handle: JavaObject, position: int, value: JavaObject) -> JavaObject:
        """Returns the handle with one of its arguments fixed."""
        return self.methods.insertArguments(handle.asFixedArity(), position, self.array("Object", [value]))

    def then(self, first: JavaObject, *following: JavaObject) -> JavaObject:
        """Returns `following(first(…))`, and so on."""
        for handle in following:
            first = self.methods.filterReturnValue(first, handle)
        return first

    def when(self, test: JavaObject, yes: JavaObject, no: JavaObject) -> JavaObject:
        """Returns `test(…) ? yes(…) : no(…)`; the test may take fewer arguments."""
        return self.methods.guardWithTest(test, yes, no)

    def after(self, handle: JavaObject, *first: JavaObject) -> JavaObject:
        """Returns `handle(first[0](x), first[1](x), …)` of one common argument x."""
        spread = self.methods.filterArguments(handle, 0, self.array("invoke.MethodHandle", list(first)))
        common = first[0].type().parameterType(0)
        merged = self._method_type.methodType(spread.type().returnType(), common)
        return self.methods.permuteArguments(spread, merged, self.ints([0] * len(first)))

    def always(self, text: str, like: JavaObject) -> JavaObject:
        """Returns a handle that ignores its arguments and returns a text; its parameters are those of `like`."""
        constant = self.methods.constant(self.java_class("java.lang.String"), text)
        return self.methods.dropArguments(constant, 0, like.type().parameterList())

    def array(self, kind: str, values: list[JavaObject]) -> JavaObject:
        """Returns an array of a type below `java.lang`."""
        made = self.hadoop.gateway.new_array(self._once(("array", kind), lambda: self._below_lang(kind)), len(values))
        for index, value in enumerate(values):
            made[index] = value
        return made

    def ints(self, values: list[int]) -> JavaObject:
        """Returns an `int[]`."""
        made = self.hadoop.gateway.new_array(self.hadoop.view.int, len(values))
        for index, value in enumerate(values):
            made[index] = value
        return made

    def listed(self, values: Iterable[JavaObject]) -> JavaObject:
        """Returns a Java list."""
        made = self._list()
        for value in values:
            made.add(value)
        return made

    def implement(self, interface: str, handle: JavaObject) -> JavaObject:
        """Returns an implementation of an interface whose only method is the handle."""
        return self._proxies.asInterfaceInstance(self.java_class(interface), handle)

    def texts(self, values: Iterable[str]) -> JavaObject:
        """Returns `(int) -> String` over texts without line ends, which are sent in one py4j call."""
        held = self._list(self._split.splitAsStream("\n".join(values)).collect(self._to_list))
        get = self.virtual("java.util.ArrayList", "get", "java.lang.Object", "int").bindTo(held)
        return get.asType(self.signature("java.lang.String", "int"))

    def _below_lang(self, kind: str) -> JavaObject:
        element = self._lang
        for part in kind.split("."):
            element = getattr(element, part)
        return element

    def _once(self, key: tuple[str, ...], find: Callable[[], JavaObject]) -> JavaObject:
        if key not in self._found:
            self._found[key] = find()
        return self._found[key]


class JavaLoop:
    """Computes `[step(0), step(1), …]` inside the JVM; an exception of a step is the answer of that step.

    Args:
        handles: of the JVM.
        threads: number of steps that run at the same time.
    """

    def __init__(self, handles: JavaHandles, threads: int) -> None:
        self._handles = handles
        view = handles.hadoop.view
        self._pool = view.java.util.concurrent.ForkJoinPool(threads)
        self._range = view.java.util.stream.IntStream.range
        self._joining = view.java.util.stream.Collectors.joining("\n")
        self._flag = view.java.util.concurrent.atomic.AtomicBoolean
        predicate = view.java.util.regex.Pattern.compile(UNAVAILABLE).asPredicate()
        test = handles.virtual("java.util.function.Predicate", "test", "boolean", "java.lang.Object").bindTo(predicate)
        self._is_common = test.asType(handles.signature("boolean", "java.lang.String"))
        self._same = handles.methods.identity(handles.java_class("java.lang.String"))
        throw = handles.virtual("java.lang.Throwable", "toString", "java.lang.String")
        concat = handles.virtual("java.lang.String", "concat", "java.lang.String", "java.lang.String")
        self._described = handles.then(throw, concat.bindTo(_FAILED))
        charset = view.java.nio.charset.StandardCharsets.UTF_8
        get_bytes = handles.virtual("java.lang.String", "getBytes", "[B", "java.nio.charset.Charset")
        encode = handles.virtual("java.util.Base64$Encoder", "encodeToString", "java.lang.String", "[B")
        # Base64, because names and messages may contain any character
        encoder = view.java.util.Base64.getEncoder()
        self._encoded = handles.then(handles.given(get_bytes, 1, charset), encode.bindTo(encoder))

    def run(self, step: JavaObject, count: int, *, parallel: bool = True) -> list[str | Failure]:
        """Runs a step for each index below a count.

        Once a step fails because the file system does not answer, the steps that have not begun are not tried: each
        could wait for minutes.

        Args:
            step: `(int) -> String`.
            count: number of steps.
            parallel: run in the pool; otherwise one after the other, by rising index.
        """
        guarded = self._guarded(step)
        answers: list[str | Failure] = []
        for begin in range(0, count, _CHUNK):
            stream = self._range(begin, min(begin + _CHUNK, count))
            lines = (stream.parallel() if parallel else stream).mapToObj(guarded)
            collect = self._handles.virtual(
                "java.util.stream.Stream", "collect", "java.lang.Object", "java.util.stream.Collector"
            ).bindTo(lines)
            # a parallel stream runs in the pool from which its terminal operation is called
            work = self._handles.implement(
                "java.util.concurrent.Callable", self._handles.given(collect, 0, self._joining)
            )
            text = str(self._pool.submit(work).get())
            answers += [_answer(line) for line in text.split("\n")]
        return answers

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown()

    def _guarded(self, step: JavaObject) -> JavaObject:
        handles = self._handles
        broken, flag = self._flag(), "java.util.concurrent.atomic.AtomicBoolean"
        is_broken = handles.virtual(flag, "get", "boolean").bindTo(broken)
        set_broken = handles.given(handles.virtual(flag, "set", "void", "boolean").bindTo(broken), 0, True)
        breaking = handles.methods.foldArguments(self._same, set_broken)
        marked = handles.when(self._is_common, breaking, self._same)
        caught = handles.methods.catchException(
            step, handles.java_class("java.lang.Throwable"), handles.then(self._described, marked)
        )
        tried = handles.when(is_broken, handles.always(f"{_FAILED}{NOT_TRIED}", step), caught)
        return handles.implement("java.util.function.IntFunction", handles.then(tried, self._encoded))


def failed_step(text: str) -> str:
    """Returns the text with which a step reports a failure without throwing."""
    return f"{_FAILED}{text}"


def _answer(line: str) -> str | Failure:
    text = base64.b64decode(line).decode("utf-8", "replace")
    return parse_failure(text.removeprefix(_FAILED)) if text.startswith(_FAILED) else text
