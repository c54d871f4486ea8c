"""Wires the split jobs that read private logs and journals."""

from functools import partial

from jobs.context import JobContext
from pipelines.files.executor_streams import opened
from pipelines.files.hadoop_jvm import HadoopJvm, hadoop_configuration
from pipelines.files.storage import storage_for
from pipelines.pegasus.domain.audit_log.facts import parse_facts
from pipelines.pegasus.sources.private_logs import PrivateLogs
from pipelines.pegasus.use_cases.audit_log import LogInputs


def log_reader(context: JobContext, uri: str) -> PrivateLogs:
    """Private logs and journals on any Hadoop file system."""
    opener = partial(opened, hadoop_conf=hadoop_configuration(HadoopJvm.of(context.spark)))
    return PrivateLogs(context.spark, storage_for(context.spark, uri), opener)


def log_inputs(context: JobContext, logs: str, facts: str, journal: str | None) -> LogInputs:
    """Everything that split-audit-log reads."""
    known = parse_facts(storage_for(context.spark, facts).read(facts), facts)
    decoded = log_reader(context, logs).decode(logs)
    return LogInputs(decoded, known, log_reader(context, journal).journal(journal) if journal else None)
