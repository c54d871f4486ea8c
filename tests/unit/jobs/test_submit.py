"""The spark-submit command: whose settings win, what is shipped."""

import hashlib
import json
import sys
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import pytest

from jobs.cli.context import SHIPPED_ENV
from jobs.cli.launch import launcher
from jobs.cli.launch.child import child_environment, copy_without_noise
from jobs.cli.launch.launcher import FEW_FILES, lists_few
from jobs.cli.launch.submit import (
    QUICK_START,
    SubmitSettings,
    UserArguments,
    default_file_system,
    login_environment,
    long_run,
    read_properties,
    read_settings,
    read_user_arguments,
    result_location,
    submit_command,
)
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.common.spark.few_rows import FEW
from tests.labs.places import PROJECT

DEFAULTS = PROJECT / "conf" / "spark-defaults.conf"
DELTA = [Path("/jars/delta.jar"), Path("/jars/storage.jar")]
DRIVER_JAVA = "spark.driver.defaultJavaOptions="


def command_for(
    text: str, tmp_path: Path, *, small: bool = False, java_options: str = "", environ: Mapping[str, str] | None = None
) -> list[str]:
    user = read_user_arguments(text)
    settings = read_settings(user, DEFAULTS, environ or {})
    return submit_command(
        Path("/s/spark-submit"),
        tmp_path,
        Path("a.zip"),
        user,
        settings,
        ["demo", "--out", "x y"],
        jars=DELTA,
        scratch=Path("/scratch"),
        small=small,
        java_options=java_options,
    )


def test_plain_command(tmp_path: Path) -> None:
    assert command_for("", tmp_path) == [
        "/s/spark-submit",
        "--properties-file",
        f"{tmp_path}/conf/spark-defaults.conf",
        "--load-spark-defaults",
        "--conf",
        "spark.sql.warehouse.dir=file:/scratch/warehouse",
        "--conf",
        f"spark.driver.defaultJavaOptions={long_run(tmp_path)}",
        "--conf",
        f"spark.pyspark.driver.python={sys.executable}",
        "--conf",
        f"spark.pyspark.python={sys.executable}",
        "--conf",
        "spark.driver.extraClassPath=/jars/delta.jar:/jars/storage.jar",
        "--py-files",
        "a.zip",
        f"{tmp_path}/jobs/main.py",
        "demo",
        "--out",
        "x y",
    ]


def test_the_users_jars_stand_beside_ours(tmp_path: Path) -> None:
    here = command_for("--jars=/hbase.jar,/x.jar", tmp_path)
    assert here[here.index("--jars") + 1] == "/hbase.jar,/x.jar"
    command = command_for("--master yarn --jars=/hbase.jar,/x.jar --name 'my night' --verbose", tmp_path)
    assert command[command.index("--jars") + 1] == "/hbase.jar,/x.jar,/jars/delta.jar,/jars/storage.jar"
    assert command.count("--jars") == 1
    assert command[command.index("--name") + 1] == "my night"
    assert "--verbose" in command


def test_the_users_properties_file_replaces_ours(tmp_path: Path) -> None:
    own = tmp_path / "own.conf"
    own.write_text("spark.master yarn\nspark.submit.deployMode=cluster\n")
    command = command_for(f"--properties-file '{own}'", tmp_path)
    assert command.index(str(own)) > command.index(f"{tmp_path}/conf/spark-defaults.conf")  # the last one counts
    assert "--load-spark-defaults" not in command


@pytest.mark.parametrize(
    ("properties", "more", "given"),
    [
        ("", "", ["=1"]),
        ("", "--conf spark.yarn.maxAppAttempts=2", ["=2"]),
        ("spark.yarn.maxAppAttempts 2", "", []),
    ],
)
def test_yarn_runs_a_driver_once_also_with_the_users_properties_file(
    tmp_path: Path, properties: str, more: str, given: list[str]
) -> None:
    own, name = tmp_path / "own.conf", "spark.yarn.maxAppAttempts"
    own.write_text(f"spark.master yarn\nspark.submit.deployMode cluster\n{properties}\n")
    command = command_for(f"--properties-file '{own}' {more}", tmp_path)
    assert [word.removeprefix(name) for word in command if word.startswith(name)] == given
    assert not any(word.startswith(name) for word in command_for("--master yarn --deploy-mode cluster", tmp_path))
    assert read_settings(UserArguments(), DEFAULTS, {}).values[name] == "1"


@pytest.mark.parametrize(
    ("text", "master", "cluster_mode", "local"),
    [
        ("", "local[*]", False, True),
        ("--master local[2]", "local[2]", False, True),
        ("--master=local-cluster[2,1,1024]", "local-cluster[2,1,1024]", False, False),
        ("--master yarn --deploy-mode cluster", "yarn", True, False),
        ("-c spark.master=yarn --conf spark.submit.deployMode=cluster", "yarn", True, False),
        ("--deploy-mode cluster --master yarn --deploy-mode client", "yarn", False, False),
    ],
)
def test_where_the_driver_runs(text: str, master: str, cluster_mode: bool, local: bool) -> None:
    settings = read_settings(read_user_arguments(text), DEFAULTS, {})
    assert (settings.master, settings.cluster_mode, settings.local) == (master, cluster_mode, local)


@pytest.mark.parametrize("text", ["--master 'x", "--master", "--conf a=b --jars"])
def test_arguments_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError, match="SPARK_SUBMIT_ARGS"):
        read_user_arguments(text)


def test_a_properties_file_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="properties file"):
        read_settings(read_user_arguments("--properties-file /no/such.conf"), DEFAULTS, {})


@pytest.mark.parametrize("name", ["SPARK_CONF_DIR", "SPARK_HOME"])
def test_the_defaults_of_the_users_spark_come_last(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "conf" if name == "SPARK_HOME" else tmp_path
    folder.mkdir(exist_ok=True)
    site = "spark.submit.deployMode cluster\nspark.master yarn\nspark.app.name theirs\n"
    (folder / "spark-defaults.conf").write_text(site, encoding="utf-8")
    environ, user = {name: str(tmp_path)}, read_user_arguments("--master k8s://x")
    settings = read_settings(user, DEFAULTS, environ)
    assert (settings.master, settings.cluster_mode) == ("k8s://x", True)
    assert settings.values["spark.app.name"] == "theirs"
    with pytest.raises(UsageError, match=rf"is cluster, but spark.master is local\[\*\].*{folder}.*{DEFAULTS}"):
        read_settings(read_user_arguments(""), DEFAULTS, environ)  # walsafe's own file comes before the site's
    other = {"SPARK_CONF_DIR": str(folder), "SPARK_HOME": "/opt/spark"}
    assert read_settings(user, DEFAULTS, other) == settings, "SPARK_CONF_DIR comes before SPARK_HOME"
    own = tmp_path / "own.conf"
    own.write_text("spark.master yarn\n", encoding="utf-8")
    settings = read_settings(read_user_arguments(f"--properties-file {own}"), DEFAULTS, environ)
    assert settings.values == {"spark.master": "yarn"}, "spark-submit then loads no other"
    both = read_settings(read_user_arguments(f"--properties-file {own} --load-spark-defaults"), DEFAULTS, environ)
    assert (both.master, both.cluster_mode) == ("yarn", True), "unless it is told to"


def test_the_folder_for_the_catalog_is_on_this_machine_unless_the_user_names_one(tmp_path: Path) -> None:
    name = "spark.sql.warehouse.dir"
    (tmp_path / "spark-defaults.conf").write_text(f"{name} /user/hive/warehouse\n", encoding="utf-8")
    environ = {"SPARK_CONF_DIR": str(tmp_path)}
    assert f"{name}=file:/scratch/warehouse" in command_for("", tmp_path, environ=environ)
    own = [word for word in command_for(f"--conf {name}=/w", tmp_path, environ=environ) if word.startswith(name)]
    assert own == [f"{name}=/w"]


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("", ["spark.pyspark.driver.python", "spark.pyspark.python"]),
        ("--master yarn", ["spark.pyspark.driver.python"]),
        ("--master local-cluster[2,1,1024]", ["spark.pyspark.driver.python"]),
        ("--master yarn --deploy-mode cluster", []),
    ],
)
def test_the_driver_of_this_machine_has_our_python_whatever_the_site_says(
    tmp_path: Path, text: str, ours: list[str]
) -> None:
    site = "spark.pyspark.python /site/python\nspark.pyspark.driver.python /site/python\n"
    (tmp_path / "spark-defaults.conf").write_text(site, encoding="utf-8")
    users = "spark.pyspark.python=/users/python"
    for more, given in {"": [f"{name}={sys.executable}" for name in ours], f" --conf {users}": [users]}.items():
        command = command_for(f"{text}{more}", tmp_path, environ={"SPARK_CONF_DIR": str(tmp_path)})
        assert [word for word in command if word.startswith("spark.pyspark.")] == given


def test_a_new_name_comes_before_an_old_one_wherever_they_stand(tmp_path: Path) -> None:
    site = "spark.kerberos.keytab a\nspark.yarn.keytab b\nspark.yarn.principal p\n"
    (tmp_path / "spark-defaults.conf").write_text(site, encoding="utf-8")
    environ = {"SPARK_CONF_DIR": str(tmp_path)}
    for text, keytab in {"": "a", "--keytab c": "c", "--conf spark.yarn.keytab=d": "a"}.items():
        values = read_settings(read_user_arguments(text), DEFAULTS, environ).values
        assert (values["spark.kerberos.keytab"], values["spark.kerberos.principal"]) == (keytab, "p")


def test_a_file_in_another_encoding_is_read(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_bytes(b"# f\xfcr alle\nspark.app.name theirs\n")
    settings = read_settings(read_user_arguments(""), DEFAULTS, {"SPARK_CONF_DIR": str(tmp_path)})
    assert settings.values["spark.app.name"] == "theirs"


def test_a_small_local_job_starts_fast_unless_the_user_says_how(tmp_path: Path) -> None:
    flag = f"spark.driver.defaultJavaOptions={QUICK_START}"
    assert {"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dspark.buffer.pageSize=4m"} < set(QUICK_START.split())
    assert flag in command_for("", tmp_path, small=True)
    (tmp_path / "2").mkdir()
    assert flag not in command_for("--conf spark.driver.defaultJavaOptions=-Xss4m", tmp_path / "2", small=True)
    (tmp_path / "3").mkdir()
    assert flag not in command_for("--master yarn", tmp_path / "3", small=True)


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("--conf spark.driver.extraJavaOptions=-XX:+UseZGC", ""),
        ("--driver-java-options '-Xss4m -XX:+UseG1GC'", ""),
        ("", "-XX:+UseG1GC"),
    ],
)
@pytest.mark.parametrize("small", [True, False])
def test_a_collector_of_the_user_is_the_only_one(tmp_path: Path, text: str, environment: str, small: bool) -> None:
    """Java ends with an error if two are named."""
    own = [word for word in command_for("", tmp_path, small=small) if word.startswith(DRIVER_JAVA)]
    assert own[0].count("GC") == 1
    (tmp_path / "2").mkdir()
    command = command_for(text, tmp_path / "2", small=small, java_options=environment)
    options = next(word for word in command if word.startswith(DRIVER_JAVA))
    assert "GC" not in options
    assert "-XX:ReservedCodeCacheSize=256m" in options


@pytest.mark.parametrize(
    "text",
    [
        "--principal walsafe@EXAMPLE.ORG --keytab {0}",
        "--conf spark.kerberos.principal=walsafe@EXAMPLE.ORG --conf spark.kerberos.keytab=local:{0}",
        "--conf spark.yarn.principal=walsafe@EXAMPLE.ORG --conf spark.yarn.keytab={0}",
    ],
)
def test_hadoops_client_logs_in_as_the_job_does(text: str, tmp_path: Path) -> None:
    keytab = tmp_path / "walsafe.keytab"
    user = read_user_arguments(text.format(keytab))
    assert user.rest == tuple(text.format(keytab).split())
    settings = read_settings(user, DEFAULTS, {})
    assert login_environment(settings) == {}, "the keytab is on the nodes alone: the ticket of this machine counts"
    keytab.touch()
    assert login_environment(settings) == {"KRB5PRINCIPAL": "walsafe@EXAMPLE.ORG", "KRB5KEYTAB": str(keytab)}


@pytest.mark.parametrize("text", ["", "--principal walsafe@EXAMPLE.ORG"])
def test_without_a_keytab_hadoops_client_takes_the_ticket(text: str) -> None:
    assert login_environment(read_settings(read_user_arguments(text), DEFAULTS, {})) == {}


def test_properties() -> None:
    text = "# c\n\nspark.a   1\nspark.b=x \\\n    y\n  spark.c: z\nspark.d\n"
    assert read_properties(text) == {"spark.a": "1", "spark.b": "x y", "spark.c": "z", "spark.d": ""}


def test_a_driver_elsewhere_is_told_that_a_file_was_shipped(tmp_path: Path) -> None:
    user = read_user_arguments("--master yarn --deploy-mode cluster")
    settings = read_settings(user, DEFAULTS, {})

    def shipping(*files: Path) -> list[str]:
        places = (Path("/s/spark-submit"), tmp_path, Path("a.zip"))
        return submit_command(*places, user, settings, ["night"], jars=DELTA, scratch=tmp_path, ship=files)

    command = shipping(Path("/etc/walsafe/prod.yaml"))
    assert command[command.index("--files") + 1] == "/etc/walsafe/prod.yaml"
    for variables in ("spark.yarn.appMasterEnv", "spark.kubernetes.driverEnv"):
        assert f"{variables}.{SHIPPED_ENV}=1" in command
    assert not any(SHIPPED_ENV in word for word in shipping())


def settings_of(**values: str) -> SubmitSettings:
    return SubmitSettings(
        "yarn", cluster_mode=True, values={key.replace("_", "."): value for key, value in values.items()}
    )


def test_result_goes_to_the_default_file_system(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>fs.defaultFS</name><value>hdfs://ns1</value></property></configuration>"
    )
    assert result_location(settings_of(), {"HADOOP_CONF_DIR": str(tmp_path)}, "r.json") == "hdfs://ns1/tmp/r.json"
    assert (
        result_location(settings_of(spark_hadoop_fs_defaultFS="hdfs://b"), {"HADOOP_CONF_DIR": str(tmp_path)}, "r")
        == "hdfs://b/tmp/r"
    )


def test_a_folder_that_cannot_be_searched_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(UsageError, match=r"/closed/core-site\.xml cannot be read: .*Permission denied"):
        default_file_system({"HADOOP_CONF_DIR": "/closed"})
    with pytest.raises(UsageError, match=r"/closed/spark-defaults\.conf cannot be read: .*Permission denied"):
        read_settings(UserArguments(), Path("/ours"), {"SPARK_CONF_DIR": "/closed"})


def test_result_on_kubernetes_goes_where_spark_uploads() -> None:
    settings = settings_of(spark_kubernetes_file_upload_path="s3a://bucket/up/")
    assert result_location(settings, {}, "r.json") == "s3a://bucket/up/r.json"


@pytest.mark.parametrize("site", [None, "<configuration/>", "<no xml"])
def test_no_place_for_the_result_is_refused_with_the_way_out(site: str | None, tmp_path: Path) -> None:
    if site:
        (tmp_path / "core-site.xml").write_text(site)
    with pytest.raises(UsageError, match=r"--result|core-site\.xml"):
        result_location(settings_of(), {"YARN_CONF_DIR": str(tmp_path)} if site else {}, "r.json")


def test_what_the_user_has_set_stays_in_the_environment() -> None:
    local, yarn = SubmitSettings("local[2]", False, {}), SubmitSettings("yarn", False, {})
    given = {"LANG": "de_DE.UTF-8", "SPARK_LOCAL_IP": "10.0.0.1", "PYSPARK_PYTHON": "/opt/py", "MASTER": "yarn"}
    given["DEPLOY_MODE"] = "cluster"
    here = child_environment(given, local, Path("/s"), Path("/j/bin/java"))
    assert (here["SPARK_LOCAL_IP"], here["PYSPARK_PYTHON"], here["JAVA_HOME"]) == ("10.0.0.1", "/opt/py", "/j")
    assert not {"LC_ALL", "MASTER", "DEPLOY_MODE"} & here.keys()  # spark-submit would read them, and walsafe does not
    there = child_environment(given, yarn, Path("/s"), Path("/j/bin/java"))
    assert there["PYSPARK_PYTHON"] == "/opt/py"


@pytest.mark.parametrize(
    "given", [{}, {"LANG": "C"}, {"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, {"LC_CTYPE": "C", "LANG": "de_DE.UTF-8"}]
)
def test_java_names_every_file_in_a_locale_without_letters(given: dict[str, str]) -> None:
    settings = SubmitSettings("local[2]", False, {})
    assert child_environment(given, settings, Path("/s"), Path("/j/bin/java"))["LC_ALL"] == "C.UTF-8"


def test_deltas_jars_come_first_in_the_class_path_of_one_jvm_unless_the_user_has_set_it(tmp_path: Path) -> None:
    own, shipped = "spark.driver.extraClassPath=/jars/delta.jar:/jars/storage.jar", "--jars"
    site, file = tmp_path / "spark-defaults.conf", tmp_path / "own.conf"
    for properties in (site, file):
        properties.write_text("spark.driver.extraClassPath /hadoop/*\n")

    def given(arguments: str, environ: Mapping[str, str] | None = None) -> tuple[bool, bool]:
        command = command_for(arguments, tmp_path, environ=environ)
        return own in command, shipped in command

    assert given("--master local[2]") == (True, False)
    for there in ("yarn", "local-cluster[2,1,1024]"):
        assert given(f"--master {there}") == (False, True)
    users = ("--conf spark.driver.extraClassPath=/h/*", "--driver-class-path /h/*", f"--properties-file '{file}'")
    for one in users:
        assert given(f"--master local[2] {one}") == (False, True)
    assert given("", {"SPARK_CONF_DIR": str(tmp_path)}) == (False, True)


def test_the_small_jvm_that_builds_sparks_command_opens_one_jar(tmp_path: Path) -> None:
    local = SubmitSettings("local[2]", False, {})
    homes = [tmp_path / "spark", tmp_path / "with space"]
    for home in homes:
        (home / "jars").mkdir(parents=True)
        (home / "jars" / "spark-launcher_2.13-4.2.0.jar").touch()

    def options(home: Path, given: dict[str, str]) -> str | None:
        return child_environment(given, local, home, Path("/j/bin/java")).get("SPARK_LAUNCHER_OPTS")

    assert options(homes[0], {}) == f"-Xbootclasspath/a:{homes[0]}/jars/spark-launcher_2.13-4.2.0.jar"
    assert options(homes[0], {"SPARK_LAUNCHER_OPTS": "-Dx=y"}) == "-Dx=y"
    assert options(homes[1], {}) is None  # Spark's script splits the options at blanks


def test_only_known_noise_is_left_out(tmp_path: Path) -> None:
    lines = [
        b"WARNING: Using incubator modules: jdk.incubator.vector\n",
        b"WARNING: your disk is full\n",
        b"2026-11-22 WARN Utils: x\n",
        b"no newline",
    ]
    (tmp_path / "in").write_bytes(b"".join(lines))
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        copy_without_noise(source, target)
    assert (tmp_path / "out").read_bytes() == b"".join(lines[1:])


def snapshot(folder: Path, *rows: int) -> str:
    contents = {f"files/part-{number}.parquet": {"rows": one} for number, one in enumerate(rows)}
    folder.mkdir()
    (folder / "snapshot.json").write_text(json.dumps({"contents": {**contents, "queues-1.jsonl": {"rows": 10**6}}}))
    return str(folder)


def test_few_listed_files_are_no_work_for_the_optimizing_compiler(tmp_path: Path) -> None:
    assert FEW_FILES == FEW
    one, two = snapshot(tmp_path / "a", FEW - 1, 1), f"file://{snapshot(tmp_path / 'b', 1)}"
    assert lists_few([one])
    assert lists_few([two])
    assert not lists_few([one, two])
    assert not lists_few([])
    assert not lists_few([two, "hdfs://ns1/snapshots/c"])
    (tmp_path / "b" / "snapshot.json").write_text("[1")
    assert not lists_few([two])


def test_jars_that_are_there_need_no_cache_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark, folder = tmp_path / "spark", tmp_path / "jars"
    (spark / "jars").mkdir(parents=True)
    (spark / "jars" / "spark-core_2.13-4.2.0.jar").touch()
    folder.mkdir()
    (folder / "io.delta_delta-storage-4.4.0.jar").write_bytes(b"jar")
    lock = f"{hashlib.sha256(b'jar').hexdigest()} io.delta:delta-storage:4.4.0\n"
    for place in (tmp_path, folder):
        (place / "jars.lock").write_text(lock)
    (tmp_path / "no folder").touch()
    monkeypatch.setattr(launcher, "LOCK", tmp_path / "jars.lock")
    monkeypatch.setattr(launcher, "is_clone", lambda: False)
    monkeypatch.setattr(launcher, "jars_folder", lambda: folder)
    monkeypatch.setattr(launcher, "cache_folder", lambda: tmp_path / "no folder")
    assert [jar.name for jar in launcher._jars(Path("java"), spark)] == ["io.delta_delta-storage-4.4.0.jar"]
    (folder / "io.delta_delta-storage-4.4.0.jar").write_bytes(b"half")
    with pytest.raises(UnavailableError):
        launcher._jars(Path("java"), spark)


def test_a_bar_is_copied_as_it_is_drawn() -> None:
    drawn = b"\rmoved: 10%\rmoved: 20%"
    target = BytesIO()
    reads = iter([drawn, b"\r      \rline\n", b""])
    seen: list[bytes] = []

    class Slow:
        def read1(self, _size: int) -> bytes:
            seen.append(target.getvalue())
            return next(reads)

    copy_without_noise(Slow(), target)
    assert seen == [b"", drawn, drawn + b"\r      \rline\n"]


def test_no_arguments_at_all() -> None:
    assert read_user_arguments("") == UserArguments()
