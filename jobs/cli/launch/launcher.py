"""The client side of `spark-submit.sh` and of the command `walsafe`: runs spark-submit and returns its exit code.

It answers usage errors and `--help` without a JVM.
"""

import json
import logging
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from jobs.cli import log
from jobs.cli.command_line import Invocation, parse
from jobs.cli.context import STOP_FILE_ENV, JobContext
from jobs.cli.entry import OUTPUT_FILE_ENV, run, tell_failure
from jobs.cli.entry import main as run_here
from jobs.cli.failures import spark_ended
from jobs.cli.launch import class_archive
from jobs.cli.launch.child import child_environment, run_child
from jobs.cli.launch.client import client_context, writes_elsewhere
from jobs.cli.launch.cluster_mode import HadoopShell, in_cluster
from jobs.cli.launch.jars import (
    StepError,
    are_there,
    fetch_jars,
    jars_for,
    one_at_a_time,
    spark_of,
    supported_sparks,
)
from jobs.cli.launch.places import PROJECT, cache_folder, is_clone, jars_folder
from jobs.cli.launch.project_archive import build_archive
from jobs.cli.launch.submit import (
    SUBMIT_ARGS_ENV,
    SubmitSettings,
    login_environment,
    read_settings,
    read_user_arguments,
    result_location,
    submit_command,
)
from jobs.cli.registry import JOBS, JobEntry
from jobs.cli.result_file import write_answer
from pipelines.common.errors import (
    EXIT_DONE,
    EXIT_PARTIAL,
    SparkNeededError,
    UnavailableError,
    UsageError,
    WalsafeError,
)
from pipelines.files.local_paths import local_path, path_here

_JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_DECIDED = (EXIT_DONE, EXIT_PARTIAL)
_HEAP_FULL, _KILLED = 52, 137
LOCK = PROJECT / "jars.lock"
SET_UP = "--set-up"
"""In a clone, `spark-submit.sh` answers it."""
FEW_FILES = 50_000
"""`FEW` of `pipelines.common.spark.few_rows`, which imports Spark."""
_FOLDERS_OF_A_CLUSTER = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")


def main(argv: Sequence[str]) -> int:
    """Runs a job through spark-submit, or here if it needs no Spark.

    Returns:
        The exit code of the job.
    """
    if list(argv) == [SET_UP]:
        return _set_up(os.environ)
    invocation = parse(argv)
    if not invocation.job.NEEDS_SPARK or not _configuration_is_right(invocation):
        return run_here(argv)
    log.set_up(invocation.args.log_level, invocation.args.log_format)
    try:
        with suppress(SparkNeededError):
            return _without_spark(invocation, os.environ)
        _remove_older(invocation.args.result)
        return _submit(invocation, os.environ)
    except (WalsafeError, OSError) as error:
        return tell_failure(invocation, error)


def _remove_older(result: str | None) -> None:
    """Removes an older `--result` of this machine, which would else be taken for the answer of a driver that died."""
    here = path_here(result) if result else None
    if here is not None:
        with suppress(OSError):  # if it cannot be removed, the new one cannot be written either, which is told then
            here.unlink()


def _set_up(environ: Mapping[str, str]) -> int:
    """Fetches the jars of an installed walsafe, so that no job has to."""
    os.umask(0o022)  # the service user reads what another user sets up
    try:
        folder = _jars(_java(environ), _spark_home(environ))[0].parent
    except WalsafeError as error:
        log.say(f"walsafe {SET_UP}: {error}", logging.ERROR)
        return error.exit_code
    log.say(f"Delta's jars are in {folder}")
    return EXIT_DONE


def _configuration_is_right(invocation: Invocation) -> bool:
    """Whether the job would accept its `--config`; if not, the job can say what is wrong without a JVM."""
    from jobs.cli.config.configuration import load_config

    config = getattr(invocation.args, "config", None)
    if config is None or writes_elsewhere(invocation.args):  # what it says of its failure needs the JVM
        return True
    try:
        load_config(config, JobContext(invocation.name))
    except UsageError:
        return False
    return True


def _without_spark(invocation: Invocation, environ: Mapping[str, str]) -> int:
    """Runs a job in this process until it needs Spark: a question to the lake, or a night that cannot start.

    Raises:
        SparkNeededError: the job needs Spark; nothing was printed.
    """
    user = read_user_arguments(environ.get(SUBMIT_ARGS_ENV, ""))
    settings = read_settings(user, PROJECT / "conf" / "spark-defaults.conf", environ)
    context = client_context(invocation, user, settings, environ)
    if context is None:
        raise SparkNeededError(invocation.name)
    return run(invocation, context)


def _submit(invocation: Invocation, environ: Mapping[str, str]) -> int:
    user = read_user_arguments(environ.get(SUBMIT_ARGS_ENV, ""))
    settings = read_settings(user, PROJECT / "conf" / "spark-defaults.conf", environ)
    java = _java(environ)
    spark_home = _spark_home(environ)
    jars = _jars(java, spark_home)
    environment = child_environment(environ, settings, spark_home, java)
    environment[log.LOG_FORMAT_ENV] = invocation.args.log_format
    config = Path(os.path.expanduser(getattr(invocation.args, "config", None) or ""))
    ship = [config.absolute()] if settings.cluster_mode and config.is_file() else []
    options, result = list(invocation.options), invocation.args.result
    if settings.cluster_mode and (result is None or path_here(result) is not None):  # the driver's disk is not this one
        result = result_location(settings, environ, f"walsafe-{invocation.name}-{uuid.uuid4().hex}.json")
        end = options.index("--") if "--" in options else len(options)  # behind it are no options
        options[end:end] = ["--result", result]
    entry = JOBS[invocation.name]
    archive = class_archive.archive_of(cache_folder(), java.resolve().parent.parent, spark_home, jars)
    classes, unfinished = _classes(settings, entry, archive, environment)
    if unfinished is not None:  # Java archives no classes if a folder with files is in the class path
        environment = {name: value for name, value in environment.items() if name not in _FOLDERS_OF_A_CLUSTER}
    with tempfile.TemporaryDirectory(prefix="walsafe-", ignore_cleanup_errors=True) as folder:
        command = submit_command(
            spark_home / "bin" / "spark-submit",
            PROJECT,
            build_archive(PROJECT, cache_folder(), Path(folder)),
            user,
            settings,
            [invocation.name, *options],
            jars=jars,
            scratch=Path(folder),
            small=entry.small or (invocation.name == "reconcile" and lists_few(invocation.args.snapshot or ())),
            ship=ship,
            classes=classes,
            java_options=" ".join(environment.get(name, "") for name in _JAVA_OPTIONS),
        )
        if settings.cluster_mode:
            reading = environment | login_environment(settings)
            return in_cluster(command, environment, HadoopShell(spark_home, reading), result, invocation)
        stop = Path(folder, "stop") if entry.gentle else None
        code = _in_client(command, environment, Path(folder, "answer"), stop)
    if unfinished is not None:
        with suppress(OSError):  # the job has ended, and its answer is given
            class_archive.keep_archive(unfinished, archive, ended_well=code in _DECIDED)
    return code


def lists_few(snapshots: Sequence[str]) -> bool:
    """Whether these are snapshots on this machine that list few files, which optimized code would not repay."""
    files = 0
    try:
        for uri in snapshots:
            snapshot = json.loads((local_path(uri) or Path(uri)).joinpath("snapshot.json").read_bytes())
            files += sum(part["rows"] for name, part in snapshot["contents"].items() if name.startswith("files/"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # the job says what is wrong
        return False
    return 0 < files <= FEW_FILES


def _jars(java: Path, spark_home: Path) -> list[Path]:
    """Returns Delta's jars; an installed walsafe fetches them first.

    Raises:
        UnavailableError: they could not be fetched.
    """
    folder, cache = jars_folder(), cache_folder()
    try:
        if not is_clone() and not are_there(LOCK, folder):  # the cache may be read-only then
            with one_at_a_time(cache, log.say):
                fetch_jars(LOCK, folder, cache, str(java), lambda: spark_home / "jars", log.say)
    except (StepError, OSError) as error:
        raise UnavailableError(str(error)) from None
    return jars_for(LOCK, folder, spark_of(spark_home / "jars") or "")


def _classes(
    settings: SubmitSettings, entry: JobEntry, archive: Path, environment: Mapping[str, str]
) -> tuple[str, Path | None]:
    """Returns the Java options for the archive of loaded classes, and the file that the JVM will write, if any.

    Java uses the archive if the class path begins with the one that the archive was made with: Delta's jars, then
    Spark's.
    """
    conf = Path(environment.get("SPARK_CONF_DIR") or Path(environment["SPARK_HOME"], "conf"))
    if not settings.delta_in_class_path or (conf.is_dir() and any(conf.iterdir())):
        return "", None
    writes = entry.archives_classes and not environment.get("SPARK_DIST_CLASSPATH")
    if archive.is_file() or not writes or not os.access(archive.parent, os.W_OK):
        return class_archive.reading_options(archive), None
    log.say(f"walsafe: this once also keeping Java's loaded classes in {archive.parent}: later starts are faster")
    return class_archive.writing_options(archive)


def _in_client(command: Sequence[str], environment: Mapping[str, str], answer: Path, stop: Path | None) -> int:
    """Runs the driver here. Its result comes through a file, because spark-submit merges the driver's two streams."""
    from pipelines.common.progress import TERMINAL_ENV, terminal_width

    bars = 0 if environment.get(log.LOG_FORMAT_ENV) == log.JSON else terminal_width()
    told = {OUTPUT_FILE_ENV: str(answer), STOP_FILE_ENV: str(stop or ""), TERMINAL_ENV: str(bars)}
    code = run_child(command, {**environment, **told}, stop)
    if code in (_HEAP_FULL, _KILLED):  # what the driver's Python says of it, nobody reads
        failure = spark_ended(f"exit code {code} of the JVM or of the driver's Python")
        log.say(f"walsafe: {failure.message}", logging.ERROR)
        code = failure.exit_code if code == _HEAP_FULL else code
    if answer.exists():
        return write_answer(answer.read_text(encoding="utf-8"), code)
    if code in (EXIT_DONE, 1):  # 0: of an option like --version
        raise UsageError(
            f"spark-submit did not start the job, see above; check {SUBMIT_ARGS_ENV} and conf/spark-defaults.conf"
        )
    return code


def _java(environ: Mapping[str, str]) -> Path:
    """Returns the java command, checked by the same script as everywhere else.

    Raises:
        UsageError: Java is missing or has another version.
    """
    check = 'source "$0"; find_java; printf %s "$JAVA"'
    script = PROJECT / "scripts" / "environment.sh"
    done = subprocess.run(
        ["bash", "-c", check, str(script)], env=dict(environ), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UsageError(done.stderr.strip().removeprefix("walsafe: "))
    return Path(done.stdout)


def _spark_home(environ: Mapping[str, str]) -> Path:
    """Returns the user's SPARK_HOME, or the Spark in `.venv`.

    Raises:
        UsageError: SPARK_HOME is another version.
    """
    given = environ.get("SPARK_HOME")
    if not given:
        spec = find_spec("pyspark")  # to import it takes a quarter of a second
        if spec is None or spec.origin is None:
            raise UsageError(f"pyspark is not installed beside {sys.executable}: install walsafe again")
        return Path(spec.origin).resolve().parent
    home = Path(given)
    supported = supported_sparks(LOCK)
    if spark_of(home / "jars") not in supported:
        raise UsageError(
            f"SPARK_HOME={given} is not Spark {', '.join(supported[:-1])} or {supported[-1]} with Scala 2.13, which "
            "Delta's jars are built for: unset it to use the Spark in .venv, or point it to one of these"
        )
    return home
