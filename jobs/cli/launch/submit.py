"""Builds the spark-submit command of a job: precedence of settings, shipped files, deploy mode.

It reads the settings files and builds a command; `jobs.cli.launch.launcher` runs it.
"""

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from jobs.cli.context import SHIPPED_ENV
from pipelines.common.errors import UsageError

SUBMIT_ARGS_ENV = "SPARK_SUBMIT_ARGS"
_SHIPPED_LISTS = ("--jars", "--py-files", "--files")
# ParallelGC: whole listings pass through short-lived objects, and the throughput collector takes a fifth less time.
# ReservedCodeCacheSize: the smaller compiler alone would have 48 MB for its code and stop compiling when it is full.
# DontCompileHugeMethods: Spark makes one method of a whole decision; left uncompiled for its size, it takes 1.7 times
# the time.
# MetaspaceSize: below it, classes that are loaded cause no collection of the whole heap; a start loads some 150 MB.
_LONG_RUN = (
    "-XX:+UseParallelGC -XX:-DontCompileHugeMethods -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=256m "
    # ten times Java's defaults: code that runs for every file is still optimized, query planning is not worth it
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
)
# SerialGC: a small heap is collected by one thread in less CPU time than by several.
# pageSize: every sort, grouping and broadcast takes at least one page, of up to 64 MB by default however few its rows.
# Together with MetaspaceSize, this more than halves the collector's pauses in a night of 1,000 files: 0.6 s instead of
# 1.4 s of 26 s.
QUICK_START = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=256m "
    "-Dspark.buffer.pageSize=4m"
)
CLASS_PATH = "spark.driver.extraClassPath"
"""The jars that come first in the class path of the driver. Java archives no classes of jars that `--jars` names."""
_STAND_FOR = {
    "--master": "spark.master",
    "--deploy-mode": "spark.submit.deployMode",
    "--principal": "spark.kerberos.principal",
    "--keytab": "spark.kerberos.keytab",
    "--driver-class-path": CLASS_PATH,
}
_OLD_NAMES = {f"spark.yarn.{name}": f"spark.kerberos.{name}" for name in ("principal", "keytab")}
_ATTEMPTS = "spark.yarn.maxAppAttempts"
_PYTHONS = ("spark.pyspark.driver.python", "spark.pyspark.python")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")


def long_run(project: Path) -> str:
    """Returns the Java options for a driver on this machine that processes whole listings."""
    directives = project / "conf" / "compiler-directives.json"
    return f'{_LONG_RUN} -XX:+UnlockDiagnosticVMOptions "-XX:CompilerDirectivesFile={directives}"'


@dataclass(frozen=True, slots=True)
class UserArguments:
    """The parsed `SPARK_SUBMIT_ARGS`.

    Attributes:
        rest: arguments that go to spark-submit unchanged.
        shipped: values of `--jars`, `--py-files` and `--files`, to which walsafe adds its own.
        conf: every `--conf`, and the options that are short for one.
        properties_file: the user's file instead of `conf/spark-defaults.conf`.
    """

    rest: tuple[str, ...] = ()
    shipped: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    properties_file: str | None = None

    @property
    def loads_spark_defaults(self) -> bool:
        """Whether spark-submit also reads the `spark-defaults.conf` of the user's Spark."""
        return self.properties_file is None or "--load-spark-defaults" in self.rest


@dataclass(frozen=True, slots=True)
class SubmitSettings:
    """Where the driver and the executors run, according to everything that spark-submit will read.

    Attributes:
        master: as given; `local[*]` by default.
        cluster_mode: whether the driver runs on the cluster.
        values: all Spark properties known before the start.
    """

    master: str
    cluster_mode: bool
    values: Mapping[str, str]

    @property
    def local(self) -> bool:
        """Whether everything runs in one JVM on this machine."""
        return self.master.startswith("local") and not self.master.startswith("local-cluster")

    @property
    def delta_in_class_path(self) -> bool:
        """Whether Delta's jars come first in the class path of the driver; else spark-submit ships them."""
        return self.local and CLASS_PATH not in self.values


def read_user_arguments(text: str) -> UserArguments:
    """Splits `SPARK_SUBMIT_ARGS` as a shell would.

    Raises:
        UsageError: unbalanced quotes, or an option without its value.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{SUBMIT_ARGS_ENV} cannot be read: {error}; check its quotes") from None
    rest: list[str] = []
    shipped: dict[str, str] = {}
    conf: dict[str, str] = {}
    properties_file = None
    position = 0
    while position < len(words):
        option, joined, value = words[position].partition("=")
        takes_value = option in {*_SHIPPED_LISTS, *_STAND_FOR, "--conf", "-c", "--properties-file"}
        if not takes_value:
            rest.append(words[position])
            position += 1
            continue
        if not joined:
            position += 1
            if position == len(words):
                raise UsageError(f"{SUBMIT_ARGS_ENV}: {option} lacks its value")
            value = words[position]
        position += 1
        if option in _SHIPPED_LISTS:
            shipped[option] = value
            continue
        rest += [option, value]
        if option == "--properties-file":
            properties_file = value
        elif option in _STAND_FOR:
            conf[_STAND_FOR[option]] = value
        else:
            name, _, setting = value.partition("=")
            conf[name] = setting
    return UserArguments(tuple(rest), shipped, conf, properties_file)


def read_settings(user: UserArguments, defaults: Path, environ: Mapping[str, str]) -> SubmitSettings:
    """Merges what spark-submit will read, as it does: arguments come before files.

    Args:
        user: the user's arguments.
        defaults: walsafe's properties file; the user's properties file takes its place.
        environ: `SPARK_CONF_DIR` or `SPARK_HOME` may have a `spark-defaults.conf`, which comes last.

    Raises:
        UsageError: a properties file cannot be read, or the driver is to run on a cluster without a master.
    """
    home = environ.get("SPARK_HOME")
    folder = environ.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    site = Path(folder, "spark-defaults.conf") if folder else None
    files = [Path(user.properties_file) if user.properties_file else defaults]
    if site is not None and _is_file(site) and user.loads_spark_defaults:
        files = [site, *files]
    values: dict[str, str] = {}
    for file in files:
        try:
            values |= read_properties(file.read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            raise UsageError(f"properties file {file} cannot be read: {error}") from None
    values |= user.conf
    for old, new in _OLD_NAMES.items():
        if old in values:
            values.setdefault(new, values.pop(old))
    cluster_mode = values.get("spark.submit.deployMode", "client") == "cluster"
    settings = SubmitSettings(values.get("spark.master", "local[*]"), cluster_mode, values)
    if settings.local and cluster_mode:
        raise UsageError(
            f"spark.submit.deployMode is cluster, but spark.master is {settings.master}: give --master yarn or "
            f"--deploy-mode client in {SUBMIT_ARGS_ENV}. Both may also stand in {' or '.join(map(str, files))}"
        )
    return settings


def read_properties(text: str) -> dict[str, str]:
    r"""Parses Spark's properties format: one `name value` or `name=value` per line; `\` continues a line."""
    text = re.sub(r"\\\n\s*", "", text)
    pairs = (re.split(r"[\s=:]+", line.strip(), maxsplit=1) for line in text.splitlines() if line.strip())
    return {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs if not pair[0].startswith(("#", "!"))}


def submit_command(
    spark_submit: Path,
    project: Path,
    archive: Path,
    user: UserArguments,
    settings: SubmitSettings,
    job: Sequence[str],
    *,
    jars: Sequence[Path],
    scratch: Path,
    small: bool = False,
    ship: Sequence[Path] = (),
    classes: str = "",
    java_options: str = "",
) -> list[str]:
    """Returns the whole spark-submit command.

    Args:
        spark_submit: the program.
        project: the root of the project.
        archive: from `jobs.cli.launch.project_archive`.
        user: the user's own arguments, which take precedence.
        settings: the merged settings.
        job: the job and its arguments.
        jars: Delta's.
        scratch: a folder that is removed when the job has ended.
        small: optimize for a fast start (the JVM's optimizing compiler stays off).
        ship: files of this machine that a driver elsewhere needs.
        classes: Java options for an archive of loaded classes; used only if walsafe sets the driver's options.
        java_options: those that the environment gives to every JVM.
    """
    own = {
        "--jars": [] if settings.delta_in_class_path else [str(jar) for jar in jars],
        "--py-files": [str(archive)],
        "--files": [str(file) for file in ship],
    }
    command = [str(spark_submit), "--properties-file", str(project / "conf" / "spark-defaults.conf")]
    if user.properties_file is None:
        command.append("--load-spark-defaults")  # also defaults of the user's SPARK_HOME or SPARK_CONF_DIR
    if settings.local and "spark.sql.warehouse.dir" not in (settings.values if user.properties_file else user.conf):
        # every table is named by its path; the catalog's folder would be left behind in the current directory, or on
        # the HDFS of HADOOP_CONF_DIR if it had no scheme, or where a site's spark-defaults.conf has that of Hive
        command += ["--conf", f"spark.sql.warehouse.dir=file:{scratch / 'warehouse'}"]
    if settings.local and "spark.driver.defaultJavaOptions" not in settings.values:
        options = f"{QUICK_START if small else long_run(project)} {classes}".rstrip()
        users = " ".join([java_options, settings.values.get("spark.driver.extraJavaOptions", ""), *user.rest])
        if _COLLECTOR.search(users):  # Java refuses to start with two collectors
            options = _COLLECTOR.sub("", options).strip()
        command += ["--conf", f"spark.driver.defaultJavaOptions={options}"]
    if settings.cluster_mode and _ATTEMPTS not in settings.values:  # a file of the user takes the place of ours
        command += ["--conf", f"{_ATTEMPTS}=1"]
    if not settings.cluster_mode and not any(name in user.conf for name in _PYTHONS):
        names = _PYTHONS if settings.local else _PYTHONS[:1]
        command += [word for name in names for word in ("--conf", f"{name}={sys.executable}")]
    if settings.delta_in_class_path:
        command += ["--conf", f"{CLASS_PATH}={os.pathsep.join(map(str, jars))}"]
    if ship:  # the environment of spark-submit does not reach a driver elsewhere
        for variables in ("spark.yarn.appMasterEnv", "spark.kubernetes.driverEnv"):
            command += ["--conf", f"{variables}.{SHIPPED_ENV}=1"]
    command += user.rest
    for option, files in own.items():
        listed = [entry for entry in user.shipped.get(option, "").split(",") if entry] + files
        if listed:
            command += [option, ",".join(listed)]
    return [*command, str(project / "jobs" / "main.py"), *job]


def result_location(settings: SubmitSettings, environ: Mapping[str, str], name: str) -> str:
    """Returns where a driver on the cluster can write its result so that this machine can read it.

    Args:
        settings: of this submission.
        environ: may have `HADOOP_CONF_DIR` or `YARN_CONF_DIR`.
        name: file name.

    Raises:
        UsageError: no file system is known that both can reach.
    """
    upload = settings.values.get("spark.kubernetes.file.upload.path", "")
    default = settings.values.get("spark.hadoop.fs.defaultFS") or default_file_system(environ)
    if upload and not upload.startswith("file:"):
        return f"{upload.rstrip('/')}/{name}"
    if default and not default.startswith("file:"):
        return f"{default.rstrip('/')}/tmp/{name}"  # noqa: S108 - of HDFS; a random name
    raise UsageError(
        "--deploy-mode cluster needs a place where the driver leaves its result for this machine: set HADOOP_CONF_DIR, "
        "or give --result with the URI of a file system that both can reach; it cannot be one with file:"
    )


def login_environment(settings: SubmitSettings) -> dict[str, str]:
    """Returns the variables by which Hadoop's client logs in as the job does; none if no keytab is on this machine."""
    principal, keytab = (settings.values.get(f"spark.kerberos.{name}", "") for name in ("principal", "keytab"))
    here = Path(keytab.removeprefix("local:"))  # with `local:`, it may be on the nodes alone
    return {"KRB5PRINCIPAL": principal, "KRB5KEYTAB": str(here)} if principal and here.is_file() else {}


def default_file_system(environ: Mapping[str, str]) -> str:
    """Returns `fs.defaultFS` of the core-site.xml that the environment names, or an empty string.

    Raises:
        UsageError: the file cannot be read, or is not XML.
    """
    hadoop_conf = environ.get("HADOOP_CONF_DIR") or environ.get("YARN_CONF_DIR")
    site = Path(hadoop_conf, "core-site.xml") if hadoop_conf else None
    if site is None or not _is_file(site):
        return ""
    try:
        properties = ET.parse(site).getroot().iter("property")  # noqa: S314 - the operator's own file
        values = {entry.findtext("name", ""): entry.findtext("value", "").strip() for entry in properties}
    except ET.ParseError as error:
        raise UsageError(f"{site} is not XML: {error}") from None
    except OSError as error:
        raise UsageError(f"{site} cannot be read: {error}") from None
    return values.get("fs.defaultFS", "")


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError as error:  # its folder cannot be searched
        raise UsageError(f"{file} cannot be read: {error}") from None
