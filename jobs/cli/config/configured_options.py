"""Adds options that the user did not give, from the configuration file; `$WALSAFE_CONFIG` may name that file."""

import os
from argparse import Namespace
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from jobs.cli.context import SHIPPED_ENV

CONFIG_ENV = "WALSAFE_CONFIG"
FROM_ENVIRONMENT, OF_ANY_CLUSTER = "environment", "any cluster"
"""Values of `JobEntry.configured`."""
CONFIGURED = ("cluster", "lake", "lists", "reports", "metrics", "log_format")
"""Keys of the configuration that stand for the option of the same name, with `-` for `_`."""
_OF_EVERY_JOB = ("metrics", "log_format")
"""Those that stand for it in every job with `--config`: no other job's answer depends on them."""


def complete_options(
    options: Sequence[str], known: Collection[str], configured: str, environ: Mapping[str, str]
) -> list[str]:
    """Returns the options with those that the environment and the configuration add; what is given overrules them.

    A file that cannot be read adds nothing: the job reports what is wrong with it. Nor is anything added on the
    cluster: the launcher has done so, and a file of the same path there may be old.

    Args:
        options: of one job, as given.
        known: every option that the job has.
        configured: see `JobEntry.configured`.
        environ: the environment of this process.
    """
    added: list[str] = []
    if {"-h", "--help"} & set(options) or environ.get(SHIPPED_ENV):
        return list(options)
    config = given_option("--config", options)
    keys: Sequence[str] = CONFIGURED if configured else _OF_EVERY_JOB
    if config is None and configured and environ.get(CONFIG_ENV):
        config = environ[CONFIG_ENV]
        added += ["--config", config]
    elif configured == OF_ANY_CLUSTER:  # a file given by hand may be meant for several clusters
        keys = tuple(key for key in keys if key != "cluster")
    missing = [key for key in keys if option_of(key) in known and given_option(option_of(key), options) is None]
    values = read_values(Path(os.path.expanduser(config))) if config is not None and missing else {}
    for key in missing:
        value = values.get(key)
        if isinstance(value, str):
            added += [option_of(key), value]
    return [*added, *options]  # in front of them, because a `--` would end the options


def option_of(key: str) -> str:
    """Returns the option that a key of the configuration stands for."""
    return f"--{key.replace('_', '-')}"


def given_option(option: str, options: Sequence[str]) -> str | None:
    """Returns the value of an option, the last one as argparse does; "" if it is given without one."""
    found = None
    for word, after in zip(options, [*options[1:], ""], strict=False):
        if word == "--":  # behind it are no options
            break
        if word == option:
            found = after
        elif word.startswith(f"{option}="):
            found = word.partition("=")[2]
    return found


def config_mistakes(file: str) -> str | None:
    """Returns what is wrong with a configuration file; None if nothing is."""
    from jobs.cli.config.configuration import parse_config
    from pipelines.common.errors import UsageError

    try:
        parse_config(Path(os.path.expanduser(file)).read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        return f"the configuration {file} cannot be read: {error}"
    except UsageError as error:
        return str(error)
    return None


def read_values(file: Path) -> Mapping[str, object]:
    """Returns the keys and values of a configuration file; none if it cannot be read."""
    from jobs.cli.config.yaml_lines import parse_yaml
    from pipelines.common.errors import UsageError

    try:
        return parse_yaml(file.read_text(encoding="utf-8"), str(file)).values
    except (OSError, UnicodeDecodeError, UsageError):
        return {}


def cluster_of_job(args: Namespace, local_file: Callable[[str], Path]) -> str | None:
    """Returns the cluster of a job: its option, else the key of its configuration, also of one that the job refused.

    Args:
        args: its options.
        local_file: see `JobContext.local_file`.
    """
    from pipelines.common.errors import UsageError

    given: str | None = getattr(args, "cluster", None)
    if given is not None or getattr(args, "config", None) is None:
        return given
    try:
        cluster = read_values(local_file(args.config)).get("cluster")
    except UsageError:
        return None
    return cluster if isinstance(cluster, str) else None
