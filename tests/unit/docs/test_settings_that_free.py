"""docs/safety.md has every setting that can free a file: a key or option that is new fails here until it is judged.

When a test here fails: if a wrong value of the new setting could let a file be listed, moved or deleted, add it to the
table "Every setting that can free a file" with what guards it. Else add it to `CANNOT_FREE`.
"""

import importlib
import importlib.util
import re
from argparse import ArgumentParser
from collections.abc import Callable

import pytest

from jobs.cli.registry import JOBS
from jobs.dags.walsafe_nightly_config import Nightly
from tests.labs.places import DOCS, PROJECT

JOBS_ON_THE_PATH = ("night", "capture", "reconcile", "clean", "purge")
"""The jobs between a cluster and a file that is gone; restore and maintain are listed in `CANNOT_FREE`."""
_HARMLESS = """
    capacity
    capture.files.user capture.files.kerberos capture.files.timeout capture.files.delimiter
    capture.queues.transport capture.queues.protocol capture.queues.timeout capture.queues.digest capture.queues.sasl
    capture.queues.jars
    capture.state.quorum capture.state.parent capture.state.replication capture.state.digest capture.state.sasl
    capture.state.timeout
    capture.hbase.timeout capture.step_attempts capture.quiet_attempts capture.pause
    cleaners.interval quality.data_docs log_format
    findings.stalled_nights findings.growth_nights findings.growth_min_bytes findings.backup_age
    clean.batch clean.lease clean.threads
    maintain.keep.wal_verdicts maintain.keep.other_tables maintain.keep.tables maintain.keep.lists
    maintain.keep.snapshots maintain.keep.reports
    maintain.lists maintain.snapshots maintain.vacuum_grace maintain.compact_from
    capture--out
    reconcile--cluster reconcile--lake reconcile--lists reconcile--run-id reconcile--reports
    clean--max-files clean--max-bytes
    restore--cluster restore--run-id restore--lake restore--config restore:paths
    maintain--lake maintain--config maintain--execute
    reports metrics walsafe results schedule approval_timeout job_timeout run_timeout pool deferrable notifiers
    report_url retries retry_delay clean--list-sha256 night--part
    notify.webhook notify.form notify.token notify.timeout
    night.max_files night.max_bytes night.tries night.retry_delay night--run-id night--plan
    WALSAFE STATE KEYTAB PRINCIPAL JAVA_HOME WALSAFE_WEBHOOK WALSAFE_PUSHGATEWAY
"""
CANNOT_FREE = frozenset(_HARMLESS.split())
"""What can only delay, hold more or name a place of output. A wrong `digest`, `sasl` or user may read less and is
refused; `capture.state.quorum` and the others of `source: offline`, and `jars`, are of snapshots that reconcile never
believes; restore brings files back; maintain never touches a file of HBase."""
OF_EVERY_JOB = {"-h", "--help"}
HEADING, XML_HEADING = "## Every setting that can free a file", "### What is read from hbase-site.xml"
_SET_BY_US = """
    hbase.client.meta.operation.timeout hbase.client.operation.timeout hbase.client.pause hbase.client.retries.number
    hbase.client.scanner.timeout.period hbase.client.start.log.errors.counter hbase.rpc.timeout zookeeper.recovery.retry
    zookeeper.sasl.client zookeeper.sasl.clientconfig zookeeper.request.timeout
"""
CLIENT_ONLY = frozenset(_SET_BY_US.split())
"""Properties that walsafe sets for its own client, and reads from nowhere."""


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading of docs/safety.md."""
    text = (DOCS / "safety.md").read_text(encoding="utf-8")
    assert text.count(f"\n{heading}\n") == 1
    table = re.search(r"(?:^\|.*\n)+", text.partition(f"\n{heading}\n")[2], re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[0].splitlines()[2:]]


def named(heading: str) -> list[str]:
    """The names in the first column; `job --option` as `job--option`."""
    return [name.replace(" ", "") for row in rows(heading) for name in re.findall(r"`([^`]+)`", row[0])]


def keys() -> set[str]:
    """The keys of the configuration file that hold a value, dotted."""
    place = PROJECT / "scripts" / "generate_configuration.py"
    spec = importlib.util.spec_from_file_location("configuration", place)
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    found = set(generator.every_key())
    return {key for key in found if not any(other.startswith(f"{key}.") for other in found)}


def options() -> set[str]:
    """The options of every job that reads a cluster or moves its files."""
    found = set()
    for job in (*JOBS_ON_THE_PATH, "restore", "maintain"):
        parser = ArgumentParser()
        JOBS[job].load().add_arguments(parser)
        for action in parser._actions:
            names = set(action.option_strings) - OF_EVERY_JOB
            found |= {f"{job}{name}" for name in names} if action.option_strings else {f"{job}:{action.dest}"}
    return found


def nightly() -> set[str]:
    """The keys of both nightly configurations: Airflow's, and the variables of the script without it."""
    environment = (PROJECT / "conf" / "nightly" / "walsafe-nightly.env").read_text(encoding="utf-8")
    variables = set(re.findall(r"^(?:# )?(?:export )?([A-Z_]+)=", environment, re.MULTILINE))
    return set(Nightly.model_fields) | variables


@pytest.mark.promise("every-setting-that-can-free-is-listed")
@pytest.mark.parametrize("settings", [keys, options, nightly])
def test_every_setting_was_judged(settings: Callable[[], set[str]]) -> None:
    there = settings()
    assert len(there) > 15
    unjudged = there - set(named(HEADING)) - CANNOT_FREE
    assert unjudged == set(), f"can they free a file? {__doc__}"


@pytest.mark.promise("every-setting-that-can-free-is-listed")
def test_every_setting_in_the_table_exists_and_is_there_once() -> None:
    listed = named(HEADING)
    assert len(listed) == len(set(listed))
    there = keys() | options() | nightly()
    assert set(listed) <= there
    assert CANNOT_FREE - there == set()
    assert CANNOT_FREE & set(listed) == set()


def test_no_row_leaves_its_answer_out() -> None:
    for row in (*rows(HEADING), *rows(XML_HEADING)):
        assert len(row) == 3
        assert all(len(cell.strip("| ")) > 8 for cell in row), row


@pytest.mark.promise("every-property-of-the-site-file-is-listed")
def test_every_property_that_is_read_from_hbase_site_is_in_its_table() -> None:
    sources = [
        *(PROJECT / "pipelines" / "capture" / "sources").glob("*.py"),
        *(PROJECT / "conf" / "export").glob("*.rb"),
    ]
    assert len(sources) > 20
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    # quoted with " or ': in code; a docstring puts names in backquotes
    read = set(re.findall(r"[\"']((?:hbase|zookeeper)\.[A-Za-z.-]+)[\"']", text)) - CLIENT_ONLY
    listed = named(XML_HEADING)
    assert len(listed) == len(set(listed))
    assert read == set(listed)
