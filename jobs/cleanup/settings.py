"""What clean, restore and purge need of the configuration, checked before a JVM starts."""

from collections.abc import Callable
from dataclasses import dataclass

from jobs.cli.config.capture_section import CaptureSection
from jobs.cli.config.configuration import Config, load_config
from jobs.cli.config.sections import CleanSection
from jobs.cli.context import JobContext
from pipelines.cleanup.quarantine import check_quarantine
from pipelines.common.errors import SparkNeededError, UsageError

_EXPORTED = {"files": {"fsimage", "ls"}, "queues": {"cells", "export", "hfiles"}, "state": {"export", "offline"}}


@dataclass(frozen=True, slots=True)
class CleanupSettings:
    """The configuration of a clean-up.

    Attributes:
        config: the whole configuration.
        name: its file name, for messages.
        cluster: the name of the cluster.
        wal_root: URI of the directory of `oldWALs`.
        capture: how to look at the cluster.
        clean: how to move and delete files.
    """

    config: Config
    name: str
    cluster: str
    wal_root: str
    capture: CaptureSection
    clean: CleanSection


def _no_check() -> None:
    return


def cleanup_settings(
    config_file: str, cluster: str, context: JobContext, check: Callable[[], None] = _no_check
) -> CleanupSettings:
    """Returns the settings of a clean-up, which goes on with a session.

    Args:
        config_file: `--config`.
        cluster: `--cluster`.
        context: of the job.
        check: what else is checked where no session is, before one is started.

    Raises:
        UsageError: the configuration is wrong, incomplete or of another cluster; no JVM is started for that.
        SparkNeededError: as `JobContext.need_spark`.
    """
    settings = checked_configuration(load_config(config_file, context), config_file, cluster)
    try:
        context.need_spark()
    except SparkNeededError:
        check()
        raise
    return settings


def checked_configuration(config: Config, name: str, cluster: str) -> CleanupSettings:
    """Returns the parts of the configuration that a clean-up needs.

    Args:
        config: the whole configuration.
        name: its file name, for messages.
        cluster: as given by `--cluster`.

    Raises:
        UsageError: a part is missing, is of another cluster, or does not read the live cluster.
    """
    if config.cluster is None or config.wal_root is None or config.capture is None or config.clean is None:
        keys = ("cluster", "wal_root", "capture", "clean")
        missing = next(key for key in keys if getattr(config, key) is None)
        raise UsageError(f"{name}: key {missing!r} is missing; docs/cleanup.md has an example")
    if config.cluster != cluster:
        raise UsageError(f"{name} is the configuration of cluster {config.cluster}, not of --cluster {cluster}")
    capture = config.capture
    for key, section in (("files", capture.files), ("queues", capture.queues), ("state", capture.state)):
        if section.source in _EXPORTED[key]:
            raise UsageError(
                f"{name}: capture.{key}.source {section.source!r} is an answer of earlier. A clean-up looks at the "
                "cluster as it is now: give it a configuration with live sources, and decide the list with files from "
                "hadoop or webhdfs, too (fsimage and ls have times to the minute, so every file of their lists is "
                "CHANGED). For a night that only decides, leave out the section clean"
            )
    check_quarantine(config.clean.quarantine, config.clean.archive, config.wal_root)
    return CleanupSettings(config, name, cluster, config.wal_root, capture, config.clean)
