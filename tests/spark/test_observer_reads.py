"""A clean-up does not start where its reads may be answered by an observer name node."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from pyspark.errors import UnsupportedOperationException
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from pipelines.capture.sources.hadoop_files import HadoopLister
from pipelines.cleanup.stores.hadoop_calls import HadoopCalls
from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject
from pipelines.files.observer_reads import refuse_observer_reads
from pipelines.lake.delta_rs import delta_rs_of

HA = "org.apache.hadoop.hdfs.server.namenode.ha"
KEY = "dfs.client.failover.proxy.provider.ns1"
ROOT = "hdfs://ns1/hbase"
QUIET = """
package walsafe.test;
public class QuietProvider extends org.apache.hadoop.hdfs.server.namenode.ha.ObserverReadProxyProvider {
    public QuietProvider() { super(null, null, null, null); }
}
"""


@pytest.mark.promise("observer-reads-are-refused")
@pytest.mark.parametrize(
    ("uri", "key", "provider", "refused"),
    [
        (ROOT, KEY, f"{HA}.ObserverReadProxyProvider", True),
        (ROOT, KEY, f"{HA}.ObserverReadProxyProviderWithIPFailover", True),
        (ROOT, KEY, f"{HA}.RouterObserverReadProxyProvider", True),
        (ROOT, KEY, "com.site.OurObserverReadProxyProvider", True),
        (ROOT, "dfs.client.failover.proxy.provider", f"{HA}.ObserverReadProxyProvider", True),
        ("viewfs://fleet/hbase", KEY, f"{HA}.ObserverReadProxyProvider", True),
        (ROOT, KEY, f"{HA}.ConfiguredFailoverProxyProvider", False),
        (ROOT, KEY, "com.site.NotThere", False),
        (ROOT, "dfs.client.failover.proxy.provider.ns2", f"{HA}.ObserverReadProxyProvider", False),
        ("file:/data", KEY, f"{HA}.ObserverReadProxyProvider", False),
    ],
)
def test_a_provider_that_reads_from_observers_is_refused(
    spark: SparkSession, uri: str, key: str, provider: str, *, refused: bool
) -> None:
    hadoop = HadoopJvm.of(spark)
    conf = hadoop.view.org.apache.hadoop.conf.Configuration(hadoop.conf)
    conf.set(key, f" {provider} ")
    if not refused:
        refuse_observer_reads(hadoop, conf, uri, "wal_root", "set {}")
        return
    with pytest.raises(UsageError, match=rf"property {key} is {provider}, which .* set {key}") as error:
        refuse_observer_reads(hadoop, conf, uri, "wal_root", "set {}")
    assert f"{HA}.ConfiguredFailoverProxyProvider" in str(error.value)


@pytest.fixture
def quiet(spark: SparkSession) -> Iterator[str]:
    """The name of a class that extends a provider under another name, and that Spark's configuration can load."""
    conf = HadoopJvm.of(spark).conf
    before = conf.getClassLoader()
    compiler = HadoopJvm.of(spark).view.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(before)
    compiler.cook(QUIET)
    conf.setClassLoader(compiler.getClassLoader())
    yield "walsafe.test.QuietProvider"
    conf.setClassLoader(before)


@pytest.mark.promise("observer-reads-are-refused")
def test_so_is_a_class_that_extends_one_under_another_name(spark: SparkSession, quiet: str) -> None:
    hadoop = HadoopJvm.of(spark)
    conf = hadoop.view.org.apache.hadoop.conf.Configuration(hadoop.conf)
    conf.set(KEY, quiet)
    with pytest.raises(UsageError, match=r"is walsafe\.test\.QuietProvider, which reads from observer"):
        refuse_observer_reads(hadoop, conf, ROOT, "wal_root", "set {}")


@pytest.mark.parametrize(
    ("uri", "key", "waits"),
    [
        (ROOT, KEY, True),
        (ROOT, "dfs.client.failover.proxy.provider.ns2", False),
        ("viewfs://fleet/hbase", KEY, False),  # such a file system cannot wait
    ],
)
def test_a_listing_waits_for_an_observer(spark: SparkSession, quiet: str, uri: str, key: str, *, waits: bool) -> None:
    """The file system of this test has no msync, and says so."""
    local = {f"fs.{uri.partition(':')[0]}.impl": "org.apache.hadoop.fs.RawLocalFileSystem"}
    lister = HadoopLister(HadoopJvm.of(spark), uri, {**local, key: quiet})
    error, words = (UnsupportedOperationException, "method msync") if waits else (UsageError, "Wrong FS")
    with closing(lister), pytest.raises(error, match=words):
        list(lister.pages("oldWALs"))


def test_the_store_of_a_clean_up_looks_at_the_properties_of_its_own_configuration(spark: SparkSession) -> None:
    properties = {KEY: f"{HA}.ObserverReadProxyProvider"}
    with pytest.raises(UsageError, match=rf"wal_root {ROOT}.*property {KEY}.*key {KEY} of capture.files.properties"):
        HadoopCalls(HadoopJvm.of(spark), ROOT, properties)


@contextmanager
def everywhere(conf: JavaObject, name: str, value: str) -> Iterator[None]:
    """A property of Spark's own configuration."""
    conf.set(name, value)
    try:
        yield
    finally:
        conf.unset(name)


@pytest.mark.parametrize(
    ("provider", "stale", "serves"),
    [("ObserverRead", "false", False), ("ConfiguredFailover", "true", False), ("ConfiguredFailover", "false", True)],
)
def test_deltalake_reads_no_lake_whose_answers_may_be_outdated(
    spark: SparkSession, provider: str, stale: str, *, serves: bool
) -> None:
    """It would not ask the active name node first how far the observer or the standby must be."""
    service = f"of{provider}{stale}".lower()
    properties = {
        "dfs.nameservices": service,
        f"dfs.ha.namenodes.{service}": "nn1,nn2",
        f"dfs.namenode.rpc-address.{service}.nn1": "127.0.0.1:1",
        f"dfs.namenode.rpc-address.{service}.nn2": "127.0.0.1:2",
        f"dfs.client.failover.proxy.provider.{service}": f"{HA}.{provider}ProxyProvider",
        "dfs.ha.allow.stale.reads": stale,
    }
    with ExitStack() as stack:
        for name, value in properties.items():
            stack.enter_context(everywhere(HadoopJvm.of(spark).conf, name, value))
        assert (delta_rs_of(spark, f"hdfs://{service}/lake") is not None) == serves


@pytest.mark.promise("observer-reads-are-refused")
@pytest.mark.parametrize("job", ["clean", "restore", "purge"])
@pytest.mark.parametrize(
    ("lake", "said"), [("file:{}", f"wal_root {ROOT}"), ("hdfs://ns1/lake", "--lake hdfs://ns1/l")]
)
def test_no_job_starts_with_it(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], job: str, lake: str, said: str
) -> None:
    config = tmp_path / "prod.yaml"
    capture = {
        "files": {"source": "hadoop"},
        "queues": {"source": "thrift", "host": "thrift1"},
        "state": {"source": "hbase"},
        "hbase": {"properties": {"hbase.rootdir": ROOT}},
    }
    clean = {"quarantine": "hdfs://ns1/walsafe/quarantine"}
    config.write_text(json.dumps({"cluster": "prod", "wal_root": ROOT, "capture": capture, "clean": clean}))
    run = {"clean": ["--run-id", "night", "--lists", "file:/lists"], "restore": ["--run-id", "night"], "purge": []}[job]
    words = [job, "--cluster", "prod", "--config", str(config), "--lake", lake.format(tmp_path), *run]
    with everywhere(HadoopJvm.of(spark).conf, KEY, f"{HA}.ObserverReadProxyProvider"):
        assert main(words, context=JobContext(job, spark=spark)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert f"the Hadoop property {KEY} is {HA}.ObserverReadProxyProvider" in error
    assert list(tmp_path.iterdir()) == [config]
