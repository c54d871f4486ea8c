"""Validates a command line before anything starts, and writes the texts of `--help` for all jobs."""

import os
import sys
from argparse import Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from jobs.cli import log
from jobs.cli.config.configured_options import (
    CONFIG_ENV,
    CONFIGURED,
    OF_ANY_CLUSTER,
    complete_options,
    config_mistakes,
    given_option,
    option_of,
)
from jobs.cli.launch.places import PROGRAM
from jobs.cli.monitoring.metrics_place import check_metrics
from jobs.cli.registry import GROUPS, JOBS, PEGASUS, Job, JobEntry
from pipelines.common.errors import EXIT_DONE, EXIT_USAGE
from pipelines.common.text import closest, did_you_mean, in_words, one_of_these, text_table
from pipelines.common.version import VERSION
from pipelines.files.local_paths import check_place, check_replaceable

SPLIT = "split"
"""No job: `split --help` lists the jobs of the group Pegasus."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A validated command line.

    Attributes:
        name: the name of the job.
        job: its module.
        args: its arguments, including `output`, `result` and `log_level`.
        options: the words that `args` was parsed from, with those that the configuration adds.
    """

    name: str
    job: Job
    args: Namespace
    options: tuple[str, ...]


def parse(argv: Sequence[str]) -> Invocation:
    """Validates a command line and imports only the chosen job.

    Raises:
        SystemExit: 0 after `--help` or `--version`, 2 after wrong usage; the message is already written. Without any
            argument, 2 after the text of `--help`.
    """
    if not argv:
        sys.stdout.write(overview())
        raise SystemExit(EXIT_USAGE)
    name = argv[0]
    if name in {"-h", "--help", "help"}:
        sys.stdout.write(overview())
        raise SystemExit(EXIT_DONE)
    if name == "--version":
        sys.stdout.write(f"walsafe {VERSION}\n")
        raise SystemExit(EXIT_DONE)
    if name == SPLIT and (not argv[1:] or argv[1] in {"-h", "--help", "help"}):
        sys.stdout.write(split_overview())
        raise SystemExit(EXIT_DONE)
    if name not in JOBS:
        raise _no_such_job(name)
    return invocation_of(PROGRAM, name, JOBS[name].load(), argv[1:])


def invocation_of(program: str, name: str, job: Job, options: Sequence[str]) -> Invocation:
    """Validates the options of a job that is started as `program` and its name.

    Raises:
        SystemExit: 0 after `--help`, 2 after wrong usage; the message is already written.
    """
    parser = _Parser(
        prog=f"{program} {name}",
        description=job.DESCRIPTION.replace("./spark-submit.sh", PROGRAM),
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    job.add_arguments(parser)
    entry = JOBS.get(name)
    _add_common_arguments(parser, measured=entry is not None and entry.measured)
    known = parser.options()
    unknown = _unknown_option(options, known)
    if unknown:  # argparse would report first what is missing because of it
        parser.error(unknown)
    completed = complete_options(options, known, entry.configured if entry else "", os.environ)
    parser.config_file = given_option("--config", completed)
    if entry and entry.configured:
        parser.configured = bool(entry.configured)
        parser.epilog = _of_the_file(entry.configured, known)
    return Invocation(name, job, parser.parse_args(completed), tuple(completed))


_PLACES = ("DIR", "FILE", "PATH", "PLACE")
"""What the help calls the value of an option that names a place."""


class _Parser(ArgumentParser):
    """Tells the mistakes of the configuration file before the options that are missing because of them."""

    config_file: str | None = None
    configured = False
    """Whether keys of the configuration stand for options of the job."""

    def options(self) -> set[str]:
        """Returns every option of the job by its long name."""
        return {option for action in self._actions for option in action.option_strings if option.startswith("--")}

    def error(self, message: str) -> NoReturn:
        """See `ArgumentParser.error`."""
        mistakes = config_mistakes(self.config_file) if self.config_file else None
        keys = _keys_for(message) if self.configured else ""
        super().error(mistakes or f"{message}{self._words_of(message)}{keys}")

    def _get_value(self, action: Action, arg_string: str) -> object:
        """Refuses an empty value, such as that of a shell's variable that is not set, and what is not a place."""
        if action.option_strings and not arg_string:
            raise ArgumentError(action, "its value is empty; give one, or leave the option out")
        if action.metavar in _PLACES and action.dest != "config":  # whoever reads it knows ~
            try:
                check_place(arg_string)
            except ValueError as error:
                raise ArgumentError(action, str(error)) from None
        return super()._get_value(action, arg_string)

    def _words_of(self, message: str) -> str:
        """Returns the words that a missing option takes."""
        missing = _missing(message)
        told = [
            f"{action.option_strings[0]}: {in_words([*map(str, action.choices)], 'or')}"
            for action in self._actions
            if action.choices and action.option_strings and action.option_strings[0] in missing
        ]
        return f" ({'; '.join(told)})" if told else ""


def _unknown_option(given: Sequence[str], known: Collection[str]) -> str | None:
    options = [word.partition("=")[0] for word in given if word.startswith("--") and word != "--"]
    for option in options:
        if option not in known:
            return f"no such option: {option}{did_you_mean(option, known)}"
    return None


def _keys_for(message: str) -> str:
    """Returns what would have stood for the options that argparse reports as missing."""
    missing = _missing(message)
    keys = [key for key in CONFIGURED if option_of(key) in missing]
    if keys:
        return f" (or as a key in the file of --config or ${CONFIG_ENV}: {in_words(keys)})"
    return f" (--config or ${CONFIG_ENV} names the configuration)" if "--config" in missing else ""


def _missing(message: str) -> list[str]:
    """Returns the options that argparse reports as missing."""
    return message.partition("are required: ")[2].split(", ")


def _of_the_file(configured: str, known: Collection[str]) -> str:
    """Returns what `--help` says of the configuration."""
    keys = in_words([key for key in CONFIGURED if option_of(key) in known])
    said = f"Keys of the file stand for options that are not given: {keys}.\n"
    said += f"${CONFIG_ENV} may name the file instead of --config."
    return said + (" Only then does cluster stand for --cluster." if configured == OF_ANY_CLUSTER else "")


def overview() -> str:
    """Returns the text of `--help` without a job."""
    shown = {group: jobs for group, jobs in GROUPS.items() if group != PEGASUS}
    width = max(len(name) for jobs in shown.values() for name in jobs)
    parts = [f"{group}:\n{_lines(jobs, width)}" for group, jobs in shown.items()]
    pegasus = (
        f"  {f'{SPLIT} --help':<{width}}  partition splits of Apache Pegasus: the {len(GROUPS[PEGASUS])} jobs for them"
    )
    jobs = "\n\n".join([*parts, f"{PEGASUS}:\n{pegasus}"])
    return (
        f"usage: {PROGRAM} JOB [options]\n\n"
        "walsafe tells which HBase write-ahead logs in oldWALs are safe to delete, why every other one is held,\n"
        "and by whom. Only purge ever deletes one, after clean has moved it away. clean rehearses without --execute\n"
        "or --resume, purge without --execute; night gives these options itself.\n\n"
        f"{jobs}\n\n"
        f"Each one explains itself: {PROGRAM} JOB --help. New here? {PROGRAM} demo\n"
        f"In {in_words([name for name, job in JOBS.items() if job.configured])},\n"
        f"keys of --config stand for {in_words([option_of(key) for key in CONFIGURED])};\n"
        f"--config falls back to ${CONFIG_ENV}.\n\n"
        "exit codes: 0 done · 2 wrong usage or configuration · 3 refused for safety · 4 unavailable, try again ·\n"
        "            5 done, but a cluster was refused or an error finding is new\n"
    )


def split_overview() -> str:
    """Returns the text of `split --help`."""
    jobs = GROUPS[PEGASUS]
    return (
        f"usage: {PROGRAM} JOB [options]\n\n"
        "The partition split of Apache Pegasus: can a table be split now, did a split follow the rules, was a row\n"
        "lost, which private logs can be deleted; and an offline split without a server. The jobs ask no server: you\n"
        "give them states, logs and rows.\n\n"
        f"jobs:\n{_lines(jobs, max(map(len, jobs)))}\n\n"
        f"Each one explains itself: {PROGRAM} JOB --help. New here? {PROGRAM} split-demo\n\n"
        "exit codes: those of every job (--help); 3 is also a blocker or a broken rule\n"
    )


def _lines(jobs: Mapping[str, JobEntry], width: int) -> str:
    return "\n".join(text_table(f"  {{:<{width}}}  {{:<}}", [(name, entry.help) for name, entry in jobs.items()]))


def _add_common_arguments(parser: ArgumentParser, *, measured: bool) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--output", choices=("text", "json"), default="text", help="json: one object on standard output (default: text)"
    )
    group.add_argument(
        "--result",
        type=_result_file,
        metavar="FILE",
        help="write the same JSON object to this Hadoop URI, by rename",
    )
    if measured:
        group.add_argument(
            "--metrics",
            type=_metrics_place,
            metavar="PLACE",
            help="write Prometheus metrics to this folder, or push them to this URL or to that of $NAME",
        )
    group.add_argument(
        "--log-level", choices=log.LEVELS, default="info", help="how much goes to standard error (default: info)"
    )
    group.add_argument(
        "--log-format", choices=log.FORMATS, default=log.TEXT, help="json: each line of the log is an object"
    )


def _metrics_place(text: str) -> str:
    try:
        return check_metrics(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _result_file(text: str) -> str:
    try:
        return check_replaceable(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _no_such_job(name: str) -> SystemExit:
    if "-" not in name and closest(name, [SPLIT]):
        jobs = () if name == SPLIT else GROUPS[PEGASUS]
        hint = one_of_these([*jobs, f"{SPLIT} --help"])
    else:
        hint = did_you_mean(name, JOBS, most=3) or "."
    sys.stderr.write(f"walsafe: no such job: {name!r}{hint} Jobs: {', '.join(JOBS)}. {PROGRAM} --help explains them.\n")
    return SystemExit(EXIT_USAGE)
