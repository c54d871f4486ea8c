"""Which questions to the lake are answered without a JVM, and where the lake is."""

from argparse import Namespace
from pathlib import Path

import pytest

from jobs.cli.command_line import Invocation
from jobs.cli.launch.client import ClientContext, client_context
from jobs.cli.launch.submit import SubmitSettings, UserArguments, read_user_arguments
from jobs.cli.registry import JOBS
from pipelines.common.errors import SparkNeededError, UsageError
from pipelines.lake.delta_rs import DeltaRs

LOCAL = SubmitSettings("local[*]", False, {})


def invocation(job: str = "explain", result: str | None = None) -> Invocation:
    return Invocation(job, JOBS[job].load(), Namespace(result=result), ())


@pytest.mark.parametrize(
    ("job", "result", "user", "cluster_mode", "here"),
    [
        ("explain", None, "", False, True),
        ("explain", "answer.json", "--conf spark.sql.shuffle.partitions=4", False, True),
        ("explain", "file:/tmp/answer.json", "", False, True),
        ("explain", "hdfs://ns1/answer.json", "", False, False),
        ("explain", "hdfs:/answer.json", "", False, False),
        ("explain", "answer-02:00.json", "", False, True),
        ("explain", None, "--principal me --keytab mine", False, False),
        ("explain", None, "--proxy-user you", False, False),
        ("explain", None, "--deploy-mode cluster", True, False),
        ("night", None, "", False, True),
        ("night", None, "--deploy-mode cluster", True, False),
        ("audit-queues", None, "", False, False),
    ],
)
def test_a_question_is_answered_here_unless_only_spark_can(
    job: str, result: str | None, user: str, cluster_mode: bool, here: bool
) -> None:
    given = read_user_arguments(user)
    found = client_context(invocation(job, result), given, SubmitSettings("yarn", cluster_mode, given.conf), {})
    assert (found is not None) == here


@pytest.mark.parametrize(
    ("metrics", "plan", "here"),
    [
        (None, False, True),
        ("/var/metrics", False, True),
        ("http://gw:9091", False, True),
        ("$GATEWAY", False, True),
        ("hdfs://ns1/metrics", False, False),
        ("hdfs://ns1/metrics", True, True),
    ],
)
def test_metrics_that_need_hadoop_leave_the_job_to_spark_before_it_tells_anybody(
    metrics: str | None, plan: bool, here: bool
) -> None:
    args = Namespace(result=None, metrics=metrics, plan=plan)
    found = client_context(Invocation("night", JOBS["night"].load(), args, ()), UserArguments(), LOCAL, {})
    assert (found is not None) == here


@pytest.fixture
def conf(tmp_path: Path) -> str:
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>fs.defaultFS</name><value>hdfs://ns1</value></property></configuration>"
    )
    return str(tmp_path)


@pytest.mark.parametrize(
    ("lake", "values", "hadoop", "spark_home", "full"),
    [
        ("hdfs://ns2/lake", {}, True, False, "hdfs://ns2/lake"),
        ("file:///lake", {}, True, False, "file:///lake"),
        ("/lake", {}, False, False, "file:/lake"),
        ("/lake", {}, True, False, "hdfs://ns1/lake"),
        ("/lake", {"spark.hadoop.fs.defaultFS": "hdfs://ns3/"}, True, False, "hdfs://ns3/lake"),
        ("lake", {}, True, False, ""),
        ("/lake", {}, False, True, ""),
        ("hdfs://ns2/lake", {}, False, True, "hdfs://ns2/lake"),
    ],
)
def test_a_path_gets_the_file_system_that_hadoop_would_give_it(
    conf: str, lake: str, values: dict[str, str], hadoop: bool, spark_home: bool, full: str
) -> None:
    environ = ({"HADOOP_CONF_DIR": conf} if hadoop else {}) | ({"SPARK_HOME": "/opt/spark"} if spark_home else {})
    assert ClientContext("explain", SubmitSettings("local[*]", False, values), environ).qualified(lake) == full


@pytest.mark.parametrize(
    ("lake", "served"),
    [
        ("file:/lake with a blank", True),
        ("hdfs://ns1/walsafe/lake", True),
        ("hdfs://name-node.example.org:8020/lake", True),
        ("hdfs:///lake", True),
        ("hdfs://ns1/a%20b", False),
        ("s3a://bucket/lake", False),
        ("viewfs://cluster/lake", False),
        ("", False),
    ],
)
def test_deltalake_serves_the_local_disk_and_hdfs(lake: str, served: bool) -> None:
    assert (DeltaRs.of(lake, {}) is not None) == served


def test_without_a_session_spark_is_needed_for_the_rest() -> None:
    context = ClientContext("explain", LOCAL, {})
    with pytest.raises(SparkNeededError):
        _ = context.spark
    with pytest.raises(SparkNeededError):
        context.lake("s3a://bucket/lake").newest_runs(None)


def test_a_folder_that_is_not_there_needs_no_spark(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing/runs: there is no such table: check --lake"):
        ClientContext("explain", LOCAL, {}).lake(f"{tmp_path}/nothing").newest_runs(None)
