"""What goes elsewhere: the image and its manifests for Kubernetes, and the packed environment for YARN.

What the Dockerfile's steps build runs as the CronJob says; executors run as Spark asks Kubernetes for them.
"""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from jobs.cli.launch.submit import read_settings, read_user_arguments
from pipelines.common import errors
from pipelines.common.version import VERSION
from tests.labs.cluster.classpath import HBASE_CLIENT, resolve
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.debian import bare_debian
from tests.labs.image import Image, context_of
from tests.labs.places import PROJECT
from tests.labs.spark.jar_repository import jar_repository
from tests.labs.spark.kubernetes_api import DRIVER, NAMESPACE, KubernetesApi
from tests.labs.spark.same_night import MANY_SMALL_TASKS, Night, assert_same, reconcile
from tests.labs.spark.submitter import Submitter
from tests.labs.spark.yarn import pack_environment

MANIFESTS = PROJECT / "conf" / "kubernetes"
RUN_ID = "walsafe-prod-a-29384720"
DIED = {128 + signal.SIGINT, 128 + signal.SIGKILL, 128 + signal.SIGTERM}


def objects(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((MANIFESTS / name).read_text()))


def of_kind(name: str, kind: str, called: str) -> dict[str, Any]:
    (found,) = (one for one in objects(name) if (one["kind"], one["metadata"]["name"]) == (kind, called))
    return found


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    """What the CronJob starts."""
    spec: dict[str, Any] = of_kind("night.yaml", "CronJob", "walsafe-prod-a")["spec"]["jobTemplate"]["spec"]
    return spec


@pytest.fixture(scope="module")
def pod(job: Mapping[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = job["template"]["spec"]
    return spec


def environment_of(container: Mapping[str, Any], settings: str) -> dict[str, str]:
    """The variables of the container, as the kubelet fills them in."""
    told = {
        "metadata.labels['batch.kubernetes.io/job-name']": RUN_ID,
        "metadata.name": f"{RUN_ID}-x7x2k",
        "metadata.namespace": "ops",
        "status.podIP": "10.1.2.3",
    }
    values: dict[str, str] = {}
    for one in container["env"]:
        source = one.get("valueFrom", {})
        if "fieldRef" in source:
            values[one["name"]] = told[source["fieldRef"]["fieldPath"]]
        elif "configMapKeyRef" in source:
            values[one["name"]] = settings
        else:
            values[one["name"]] = filled(one["value"], values)
    return values


def filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda name: values[name[1]], text)


@pytest.mark.promise("manifests-are-valid")
@pytest.mark.parametrize("version", ["1.29", kubernetes_validate.latest_version()])
@pytest.mark.parametrize("name", sorted(file.name for file in MANIFESTS.glob("*.yaml")))
def test_manifests_fit_the_schemas_of_kubernetes(name: str, version: str) -> None:
    for one in objects(name):
        kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.promise("manifests-are-valid")
def test_the_pod_template_of_executors_fits_too() -> None:
    template = yaml.safe_load(of_kind("with-executors.yaml", "ConfigMap", "walsafe-spark")["data"]["executor.yaml"])
    kubernetes_validate.validate(template, kubernetes_validate.latest_version(), strict=True)


def test_a_misspelt_key_is_found() -> None:
    wrong = of_kind("night.yaml", "CronJob", "walsafe-prod-a")
    wrong["spec"]["concurencyPolicy"] = wrong["spec"].pop("concurrencyPolicy")
    with pytest.raises(kubernetes_validate.ValidationError, match="concurencyPolicy"):
        kubernetes_validate.validate(wrong, "1.29", strict=True)


def test_what_the_pod_names_is_there(pod: Mapping[str, Any]) -> None:
    of_the_site = {"hadoop-conf", "hbase-conf"}
    maps = {one["metadata"]["name"] for one in objects("night.yaml") if one["kind"] == "ConfigMap"} | of_the_site
    assert {one["configMap"]["name"] for one in pod["volumes"] if "configMap" in one} <= maps
    assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    assert pod["containers"][0]["image"].endswith(f"/walsafe:{VERSION}")


@pytest.mark.parametrize("name", ["Dockerfile", "docs/clusters.md", "conf/kubernetes/night.yaml"])
def test_the_image_has_the_version_of_walsafe(name: str) -> None:
    assert set(re.findall(r"org/walsafe:([\w.]+)", (PROJECT / name).read_text())) == {VERSION}


def test_the_page_lets_java_load_libraries_from_tmp() -> None:
    """Docker mounts `--tmpfs /tmp` noexec; the lab mounts as the page says."""
    assert re.findall(r"--tmpfs (\S+)", (PROJECT / "docs" / "clusters.md").read_text())[0] == "/tmp:exec"  # noqa: S108


@pytest.mark.promise("container-needs-no-rights")
def test_a_pod_needs_no_rights(pod: Mapping[str, Any]) -> None:
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert of_kind("night.yaml", "ServiceAccount", "walsafe")["automountServiceAccountToken"] is False


def test_only_a_pod_that_died_is_replaced(job: Mapping[str, Any]) -> None:
    disrupted, failed = job["podFailurePolicy"]["rules"]
    assert (disrupted["action"], failed["action"], failed["onExitCodes"]["operator"]) == ("Ignore", "FailJob", "NotIn")
    assert set(failed["onExitCodes"]["values"]) == DIED
    assert DIED.isdisjoint(value for name, value in vars(errors).items() if name.startswith("EXIT_"))


@pytest.mark.parametrize(
    ("name", "master", "local"),
    [("night.yaml", "local[2]", True), ("with-executors.yaml", "k8s://https://kubernetes.default.svc", False)],
)
def test_settings_of_spark_are_read(pod: Mapping[str, Any], name: str, master: str, local: bool) -> None:
    settings = of_kind(name, "ConfigMap", "walsafe-spark")["data"]["settings"]
    environment = environment_of(pod["containers"][0], settings)
    given = read_user_arguments(environment["SPARK_SUBMIT_ARGS"])
    read = read_settings(given, PROJECT / "conf" / "spark-defaults.conf", {})
    assert (read.master, read.local, read.cluster_mode) == (master, local, False)
    assert read.values["spark.kubernetes.driver.pod.name"] == f"{RUN_ID}-x7x2k"
    assert read.values["spark.kubernetes.namespace"] == "ops"
    assert read.values.get("spark.driver.host") == (None if local else "${env:POD_IP}")
    assert environment["POD_IP"] == "10.1.2.3"


def context_in(folder: Path) -> Path:
    """A copy of what Docker would be sent."""
    context = folder / "context"
    for path in [*context_of(PROJECT), Path("Dockerfile"), Path(".dockerignore")]:
        (context / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT / path, context / path)
    return context


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The quick one: apt-get and pip install nothing."""
    folder = tmp_path_factory.mktemp("image")
    context = context_in(folder)
    settings = jar_repository(folder / "repository")
    shutil.copyfile(settings, context / "ivysettings.xml")
    return Image(folder, context, {"WALSAFE_IVY_SETTINGS": settings.name}, reached=settings.parent)


@pytest.mark.long
def test_the_image_has_only_what_runs(image: Image) -> None:
    there = {path.name for path in image.root.joinpath("opt/walsafe").iterdir()}
    assert there == {
        ".jars", ".venv", "LICENSE", "conf", "ivysettings.xml", "jars.lock", "jobs", "pipelines", "requirements.txt",
        "schemas", "scripts", "spark-submit.sh",
    }  # fmt: skip
    assert {path.name for path in image.root.joinpath("opt/walsafe/scripts").iterdir()} == {
        "environment.sh",
        "set_up.py",
    }
    assert list(image.root.joinpath("opt/walsafe/jobs").rglob("__pycache__/main.*.pyc"))
    assert image.apt.split()[-4:] == ["ca-certificates", "krb5-user", "openjdk-17-jre-headless", "python3-venv"]


@pytest.mark.long
@pytest.mark.promise("container-needs-no-rights")
def test_a_container_has_a_user_and_cannot_change_walsafe(image: Image) -> None:
    tried = image.start(["-c", "id; touch /opt/walsafe/x; touch /x"], entrypoint=["/bin/sh"], volumes={"/tmp": None})  # noqa: S108
    out, err = tried.communicate()
    assert out.startswith("uid=10001(walsafe) gid=10001(walsafe)")
    assert err.count("Read-only file system") == 2
    asked = image.start(json.loads(image.said["CMD"]))
    assert asked.communicate()[0].startswith("usage: ./spark-submit.sh JOB [options]")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """All steps of the Dockerfile on its Debian, with HBase's client beside it; it needs root and `debootstrap`."""
    folder = tmp_path_factory.mktemp("built")
    context = context_in(folder)
    (context / "hbase-client").mkdir()
    for jar in resolve(HBASE_CLIENT):
        shutil.copy(jar, context / "hbase-client")
    base = re.search(r"^FROM debian:(\w+)-slim$", (context / "Dockerfile").read_text(), re.MULTILINE)
    assert base is not None
    image = Image(folder, context, base=bare_debian(base[1]))
    # what runs in it finds no host but this machine, as nothing may be downloaded
    (image.root / "etc" / "resolv.conf").write_text("")
    return image


@pytest.mark.deep
def test_all_steps_of_the_dockerfile(built: Image, record_property: Callable[[str, object], None]) -> None:
    asked = ["-c", "java -version 2>&1; .venv/bin/python --version; command -v kinit; ls .jars hbase-client; pwd"]
    told = built.start(asked, entrypoint=["/bin/sh"], volumes={"/tmp": None}).communicate()[0]  # noqa: S108
    for words in (
        'openjdk version "17.',
        "Python 3.11",
        "/usr/bin/kinit",
        "jars.lock",
        "hbase-shaded-client-2.6.4.jar",
        "/opt/walsafe",
    ):
        assert words in told
    record_property("image without its Debian in MiB", sum(size for _, size in built.added) >> 20)
    for name, words in (("apt-get in MiB", "apt-get"), ("set-up in MiB", "--set-up"), ("copies in MiB", "COPY . .")):
        record_property(name, sum(size for text, size in built.added if words in text) >> 20)


@pytest.mark.deep
@pytest.mark.promise("container-needs-no-rights", "pod-continues-the-night", "shipped-night-is-captured")
def test_a_night_of_the_cronjob_is_stopped_and_continued(
    built: Image, pod: Mapping[str, Any], hbase_cluster: HBaseCluster, hdfs_cluster: HdfsCluster, tmp_path: Path
) -> None:
    """The configuration of the ConfigMap captures a real HBase 3: only the address of its HDFS is another one."""
    hbase_cluster.create_table("container")
    hbase_cluster.archive_wals("container")
    hdfs_cluster.create_directory("/walsafe", "walsafe")
    for name in ("etc", "spark"):
        (tmp_path / name).mkdir()
    shipped = of_kind("night.yaml", "ConfigMap", "walsafe-prod-a")["data"]["prod-a.yaml"]
    assert "hdfs://ns1/hbase\n" in shipped
    (tmp_path / "etc" / "prod-a.yaml").write_text(shipped.replace("hdfs://ns1", hdfs_cluster.uri))
    sources = {
        "tmp": None,
        "configuration": tmp_path / "etc",
        "hadoop": hdfs_cluster.write_conf(tmp_path / "hadoop"),
        "hbase": hbase_cluster.write_conf(tmp_path / "hbase"),
        "spark": tmp_path / "spark",
    }
    (container,) = pod["containers"]
    volumes = {mount["mountPath"]: sources[mount["name"]] for mount in container["volumeMounts"]}
    settings = of_kind("night.yaml", "ConfigMap", "walsafe-spark")["data"]["settings"].replace("4g", "1g")
    environment = environment_of(container, settings) | {"WALSAFE_PUSHGATEWAY": "http://127.0.0.1:9"}  # nobody is there
    arguments = [filled(one, environment) for one in container["args"]] + ["--output", "json"]

    def start() -> subprocess.Popen[str]:
        return built.start(arguments, environment=environment, volumes=volumes, network=True)

    stopped = start()
    stop_signal = getattr(signal, built.said["STOPSIGNAL"])
    assert stopped.stderr is not None
    told = list(until(stopped.stderr, "night: capture"))
    os.kill(first_process(stopped.pid), stop_signal)
    rest, err = stopped.communicate()
    assert stopped.returncode in DIED, (told, err)
    assert [(one["job"], one["exit_code"]) for one in json.loads(rest)["jobs"]] == [("capture", 0)], (told, err)

    replaced = start()
    out, err = replaced.communicate()
    assert replaced.returncode in {errors.EXIT_DONE, errors.EXIT_PARTIAL}, err
    night = json.loads(out)
    assert night["run_id"] == RUN_ID
    jobs = [(one["job"], one["exit_code"]) for one in night["jobs"]]
    assert jobs[0] == ("capture", 2), "it is there"
    assert jobs[1:] == [("reconcile", replaced.returncode), ("clean", 0), ("purge", 0), ("maintain", 0)]
    (decided,) = night["jobs"][1]["clusters"]
    assert decided["deletable_files"] + decided["held_files"] >= len(hbase_cluster.old_wals()) > 0
    left = hdfs_cluster.file_system().globStatus(hdfs_cluster.path("/tmp/walsafe*"))  # noqa: S108 - of HDFS
    assert [str(one.getPath()) for one in left] == [], "Spark's folder for its catalog is not on HDFS"
    assert all("message" in json.loads(line) for line in err.splitlines())


def until(lines: Iterator[str], words: str) -> Iterator[str]:
    for line in lines:
        yield line
        if words in line:
            return


def first_process(outside: int) -> int:
    """The first process of the container, whose parent is this one."""
    return int(Path(f"/proc/{outside}/task/{outside}/children").read_text().split()[0])


@pytest.mark.deep
@pytest.mark.promise("same-list-wherever-spark-runs", "executors-of-pods-need-little")
def test_executors_in_pods_of_their_own(submit: Submitter, snapshots: Path, here: Night, tmp_path: Path) -> None:
    role = of_kind("with-executors.yaml", "Role", "walsafe")
    data = of_kind("with-executors.yaml", "ConfigMap", "walsafe-spark")["data"]
    (tmp_path / "executor.yaml").write_text(data["executor.yaml"])
    api = KubernetesApi(tmp_path / "pods", role)
    settings = data["settings"].replace("/etc/walsafe-spark", str(tmp_path)).replace("=4g", "=900m")
    settings = re.sub(r"--master \S+", f"--master {api.master}", settings).replace("instances=4", "instances=2")
    settings = re.sub(r"--jars \S+", "", settings)  # HBase's client is in the image alone
    small = "--driver-memory 1g --conf spark.executor.cores=1"
    names = f"--conf spark.kubernetes.namespace={NAMESPACE} --conf spark.kubernetes.driver.pod.name={DRIVER}"
    polled = (
        "--conf spark.kubernetes.executor.enableApiWatcher=false --conf spark.kubernetes.executor.apiPollingInterval=1s"
    )
    pods: dict[str, Any] = {}
    try:
        there = reconcile(
            submit, snapshots, tmp_path, f"{settings} {small} {names} {polled} {MANY_SMALL_TASKS}",
            env={"POD_IP": "127.0.0.1"}, meanwhile=lambda _line: pods.update(api.pods),
        )  # fmt: skip
    finally:
        api.close()
    assert api.refused == [], api.logs()
    assert len({task["Task Info"]["Executor ID"] for task in there.tasks}) == 2
    assert_same(here, there)
    for pod in pods.values():
        (container,) = pod["spec"]["containers"]
        assert "python" not in container["image"]
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert pod["metadata"]["ownerReferences"][0]["name"] == DRIVER
        kubernetes_validate.validate(pod, kubernetes_validate.latest_version())


@pytest.mark.deep
@pytest.mark.promise("packed-environment-runs")
def test_a_packed_environment_runs_elsewhere(tmp_path: Path) -> None:
    archive, there = pack_environment(tmp_path), tmp_path / "container" / "environment"
    there.mkdir(parents=True)
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", there], check=True)
    archive.unlink()
    asked = "import deltalake, pyspark; print(pyspark.__file__, deltalake.__file__)"
    done = subprocess.run(
        ["./environment/bin/python", "-I", "-c", asked], cwd=there.parent, capture_output=True, text=True, check=True
    )
    assert [Path(file).is_relative_to(there) for file in done.stdout.split()] == [True, True]
    assert not list(there.glob("lib/python*/site-packages/pyspark/jars/*"))
    shutil.rmtree(there)
