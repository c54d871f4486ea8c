"""Both stores that move and delete, on a real HDFS: one contract."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from benchmarks.hdfs_files import make_files
from pipelines.cleanup.ports import Move, WalStore
from pipelines.cleanup.stores.file_calls import FileCallError, FileCalls
from pipelines.cleanup.stores.hadoop_calls import HadoopCalls
from pipelines.cleanup.stores.store_failures import Failure
from pipelines.cleanup.stores.wal_store import FileSystemWalStore
from pipelines.cleanup.stores.webhdfs_calls import WebHdfsCalls
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.files.hadoop_listing import HadoopListing
from tests.labs.cluster.hdfs import HdfsCluster

pytestmark = pytest.mark.realhbase

STRANGER = "stranger"
NAMES = ("h1%2C16020%2C5.7", "two words", "Größe-数", "a,b", "%", "x;y", "#LATEST", "q?a=b&c", "plus+", "%252C")
MANY = {"hadoop": 5_000, "webhdfs": 200}
"""A request of WebHDFS takes about a ms; the seconds are better spent elsewhere."""


@pytest.fixture(params=["hadoop", "webhdfs"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(hdfs_cluster: HdfsCluster, kind: str) -> Iterator[str]:
    """A directory of its own with `old` and `quarantine`, the two that a store may change."""
    home, files = f"/wal-store-{kind}", hdfs_cluster.file_system()
    for name in ("old", "quarantine"):
        files.mkdirs(hdfs_cluster.path(f"{home}/{name}"))
    yield f"{hdfs_cluster.uri}{home}"
    files.delete(hdfs_cluster.path(home), True)


Called = Callable[..., FileCalls]
Open = Callable[..., WalStore]


@pytest.fixture
def called(spark: SparkSession, hdfs_cluster: HdfsCluster, kind: str, root: str) -> Called:
    """Opens the calls of a store: of the superuser, or of somebody else."""

    def of(user: str | None = None) -> FileCalls:
        if kind == "webhdfs":
            return WebHdfsCalls([hdfs_cluster.webhdfs()], user, 300_000)
        hadoop = HadoopJvm.of(spark)
        information = hadoop.view.org.apache.hadoop.security.UserGroupInformation
        before = information.getLoginUser()
        if user is not None:
            information.setLoginUser(information.createRemoteUser(user))
        try:
            return HadoopCalls(hadoop, root)
        finally:
            information.setLoginUser(before)

    return of


@pytest.fixture
def opened(called: Called, root: str) -> Iterator[Open]:
    """Opens stores: of the superuser, or of somebody else."""
    stores: list[FileSystemWalStore] = []

    def of(user: str | None = None) -> WalStore:
        stores.append(FileSystemWalStore(called(user), root, [f"{root}/old", f"{root}/quarantine"]))
        return stores[-1]

    yield of
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Open) -> WalStore:
    return opened()


def write(cluster: HdfsCluster, root: str, path: str, text: str = "wal") -> str:
    cluster.create_file(f"{root.removeprefix(cluster.uri)}/{path}", text.encode())
    return f"{root}/{path}"


def tree(store: WalStore, root: str) -> set[str]:
    return {path for batch in store.walk(root) for path in batch.paths}


def test_a_file_keeps_its_length_and_time(hdfs_cluster: HdfsCluster, store: WalStore, root: str) -> None:
    moves = [Move(write(hdfs_cluster, root, f"old/{name}", name), f"{root}/quarantine/{name}") for name in NAMES]
    before = store.seen([move.source for move in moves])
    assert [seen and (seen.length, seen.is_file) for seen in before] == [(len(name.encode()), True) for name in NAMES]
    assert store.names(f"{root}/old") == sorted(NAMES)
    assert store.move(moves) == [None] * len(NAMES)
    assert store.seen([move.target for move in moves]) == before
    assert store.seen([move.source for move in moves]) == [None] * len(NAMES)
    (batch,) = store.walk(f"{root}/quarantine")
    rows = zip(batch.paths, batch.lengths, batch.modification_times, strict=True)
    expected = {
        (name, seen.length, seen.modification_time)
        for name, seen in zip(NAMES, before, strict=True)
        if seen is not None
    }
    assert set(rows) == expected
    assert store.delete([move.target for move in moves]) == [None] * len(NAMES)
    assert tree(store, root) == set()


@pytest.mark.promise("move-is-one-rename")
def test_a_rename_neither_replaces_nor_ends_inside(hdfs_cluster: HdfsCluster, store: WalStore, root: str) -> None:
    store.make_directories([f"{root}/quarantine/directory", f"{root}/old/tree"])
    write(hdfs_cluster, root, "quarantine/taken", "first")
    cases = {"a": "taken", "b": "directory", "c": "none/c", "d": "taken/d", "e": "e"}
    moves = [
        Move(write(hdfs_cluster, root, f"old/{name}", "second"), f"{root}/quarantine/{target}")
        for name, target in cases.items()
    ]
    moves += [Move(f"{root}/old/{name}", f"{root}/quarantine/{name}") for name in ("missing", "tree")]
    answers = store.move(moves)
    assert [str(answer).partition(":")[0] for answer in answers] == [
        *("FileAlreadyExistsException", "IOException", "FileNotFoundException"),
        *("ParentNotDirectoryException", "None", "FileNotFoundException", "NotAFile"),
    ]
    assert all(answer is None or "\n" not in answer for answer in answers)
    assert "must both be directories" in str(answers[1])
    assert tree(store, root) == {"old/a", "old/b", "old/c", "old/d", "quarantine/taken", "quarantine/e"}
    assert store.read(f"{root}/quarantine/taken") == "first"


def test_directories_are_never_deleted(hdfs_cluster: HdfsCluster, store: WalStore, root: str) -> None:
    store.make_directories([f"{root}/old/empty"])
    file = write(hdfs_cluster, root, "old/a")
    empty, done, missing, below = store.delete([f"{root}/old/empty", file, f"{root}/old/missing", f"{root}/old/none/x"])
    assert str(empty).startswith("NotAFile")
    assert (done, missing, below) == (None, None, None)
    assert store.names(f"{root}/old") == ["empty"]


def test_trees_of_directories(hdfs_cluster: HdfsCluster, store: WalStore, root: str) -> None:
    run, work, other = (f"{root}/quarantine/{name}" for name in ("run", ".at-work", "other"))
    store.make_directories([f"{run}/a/b", f"{run}/c", other])
    store.make_directories([other])
    file = write(hdfs_cluster, root, "quarantine/run/a/b/w")
    assert store.rename_directory(run, work)
    assert not store.rename_directory(run, work)
    for target in (other, f"{root}/quarantine/none/x"):
        with pytest.raises(UnavailableError):
            store.rename_directory(work, target)
    moved = file.replace("/run/", "/.at-work/")
    with pytest.raises(UnavailableError, match="not a directory"):
        store.rename_directory(moved, f"{moved}.2")
    assert not store.remove_empty(work)
    assert not store.remove_empty(moved)
    assert store.names(work) == ["a", "c"]
    assert store.delete([moved]) == [None]
    assert store.remove_empty(work)
    assert store.remove_empty(work)
    assert store.names(f"{root}/quarantine") == ["other"]
    assert (store.names(work), list(store.walk(work))) == ([], [])


def test_one_path_alone_has_the_answer_that_it_has_among_many(
    hdfs_cluster: HdfsCluster, called: Called, root: str, kind: str
) -> None:
    calls, file, moved = called(), write(hdfs_cluster, root, "old/w"), f"{root}/quarantine/w"
    calls.rename_file(file, moved)
    calls.rename_file(moved, file)

    def failure(call: Callable[[], object]) -> Failure:
        with pytest.raises(FileCallError) as refused:
            call()
        return refused.value.failure

    assert failure(lambda: calls.rename_file(moved, file)).gone
    assert failure(lambda: calls.rename_file(f"{root}/old", f"{root}/quarantine/old")).kind == "NotAFile"
    assert failure(lambda: calls.delete_file(f"{root}/old")).kind == "NotAFile"
    calls.delete_file(file)
    assert failure(lambda: calls.delete_file(file)).gone
    calls.close()
    if kind == "hadoop":
        assert "closed" in failure(lambda: calls.status(root)).text


def test_of_many_creators_one_succeeds(hdfs_cluster: HdfsCluster, store: WalStore, root: str) -> None:
    uri = f"{root}/quarantine/.leases/0000000001.json"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda index: store.create(uri, f"holder {index} ü"), range(8)))
    assert sorted(answers) == [False] * 7 + [True]
    assert store.read(uri) == f"holder {answers.index(True)} ü"
    store.replace(uri, "renewed")
    store.replace(f"{root}/quarantine/new", "first")
    assert (store.read(uri), store.read(f"{root}/quarantine/new")) == ("renewed", "first")
    assert store.names(f"{root}/quarantine/.leases") == ["0000000001.json"]
    assert store.read(f"{root}/quarantine/none") is None
    dead = write(hdfs_cluster, root, "quarantine/dead", "")
    assert not store.create(dead, "x")
    assert store.read(dead) == ""
    with pytest.raises(UnavailableError, match="not a file"):
        store.read(f"{root}/quarantine")


def test_a_file_still_being_written_exists(hdfs_cluster: HdfsCluster, store: WalStore, root: str) -> None:
    path = hdfs_cluster.path(f"{root}/quarantine/lease")
    out = hdfs_cluster.file_system().create(path, False)
    assert not store.create(f"{root}/quarantine/lease", "x")
    assert store.read(f"{root}/quarantine/lease") == ""
    out.close()


def test_safe_mode_refuses_everything(hdfs_cluster: HdfsCluster, store: WalStore, root: str) -> None:
    file = write(hdfs_cluster, root, "old/a")
    store.make_directories([f"{root}/quarantine/d"])
    hdfs_cluster.safe_mode(True)
    try:
        for change in (
            lambda: store.move([Move(file, f"{root}/quarantine/a"), Move(f"{file}.none", f"{root}/quarantine/b")]),
            lambda: store.delete([file]),
            lambda: store.make_directories([f"{root}/quarantine/e"]),
            lambda: store.rename_directory(f"{root}/quarantine/d", f"{root}/quarantine/e"),
            lambda: store.create(f"{root}/quarantine/x", "x"),
            lambda: store.replace(f"{root}/quarantine/x", "x"),
            lambda: store.remove_empty(f"{root}/quarantine/d"),
        ):
            with pytest.raises(UnavailableError, match=r"[Ss]afe ?[Mm]ode"):
                change()
        assert store.seen([file])[0] is not None
    finally:
        hdfs_cluster.safe_mode(False)
    assert tree(store, root) == {"old/a"}


def test_a_quota_is_each_file_s_own_failure(hdfs_cluster: HdfsCluster, store: WalStore, root: str) -> None:
    sources = [write(hdfs_cluster, root, f"old/{index}") for index in range(4)]
    store.make_directories([f"{root}/quarantine/q"])
    limited = hdfs_cluster.path(f"{root}/quarantine/q")
    hdfs_cluster.file_system().setQuota(limited, 3, (1 << 63) - 1)  # itself and two more
    answers = store.move([Move(source, f"{root}/quarantine/q/{index}") for index, source in enumerate(sources)])
    assert answers.count(None) == 2
    assert all("quota" in answer for answer in answers if answer)
    left = [index for index, answer in enumerate(answers) if answer]
    again = store.move([Move(sources[index], f"{root}/quarantine/q/{index}") for index in left])
    assert len([answer for answer in again if answer and answer.startswith("NSQuotaExceededException")]) == 2
    assert len(tree(store, root)) == 4


def test_who_may_not(hdfs_cluster: HdfsCluster, opened: Open, root: str) -> None:
    files = hdfs_cluster.file_system()
    stranger = opened(STRANGER)
    hidden, mine, shut = (f"{root}/old/{name}" for name in ("hidden", "mine", "shut"))
    for directory in (hidden, mine, shut):
        write(hdfs_cluster, root, f"{directory.removeprefix(root + '/')}/w")
    hdfs_cluster.set_permission(hidden, 0o700)
    files.setOwner(hdfs_cluster.path(mine), STRANGER, STRANGER)
    files.setOwner(hdfs_cluster.path(f"{mine}/w"), STRANGER, STRANGER)
    moves = [Move(f"{directory}/w", f"{mine}/moved-{index}") for index, directory in enumerate((shut, hidden))]
    with pytest.raises(UsageError, match="Permission denied"):
        stranger.move(moves)
    denied, hidden_too, done = stranger.move([*moves, Move(f"{mine}/w", f"{mine}/v")])
    assert done is None
    assert all("Permission denied" in str(answer) for answer in (denied, hidden_too))
    for change in (
        lambda: stranger.delete([f"{shut}/w", f"{hidden}/w"]),
        lambda: stranger.seen([f"{mine}/v", f"{hidden}/w"]),  # None would say that it is gone
        lambda: stranger.make_directories([f"{shut}/d"]),
        lambda: stranger.create(f"{shut}/x", "x"),
        lambda: stranger.replace(f"{shut}/w", "x"),
        lambda: stranger.rename_directory(shut, f"{root}/old/open"),
        lambda: list(stranger.walk(hidden)),
        lambda: stranger.names(hidden),
        lambda: stranger.read(f"{hidden}/w"),
    ):
        with pytest.raises(UsageError, match="Permission denied"):
            change()


@pytest.mark.promise("nothing-else-is-touched")
def test_nothing_outside_is_touched(hdfs_cluster: HdfsCluster, store: WalStore, root: str) -> None:
    good, outside = write(hdfs_cluster, root, "old/good"), write(hdfs_cluster, root, "precious")
    home = root.removeprefix(hdfs_cluster.uri)
    for bad in (
        outside,
        f"{root}/old",
        f"{root}/old/../precious",
        f"{root}/old//good",
        f"{root}/old/a\nb",
        f"file:{home}/old/good",
        f"hdfs://elsewhere{home}/old/good",
        f"{home}/old/good",
    ):
        for change in (
            lambda bad=bad: store.move([Move(good, f"{good}.2"), Move(bad, f"{good}.3")]),
            lambda bad=bad: store.move([Move(good, f"{good}.2"), Move(good, bad)]),
            lambda bad=bad: store.delete([good, bad]),
            lambda bad=bad: store.make_directories([bad]),
            lambda bad=bad: store.remove_empty(bad),
            lambda bad=bad: store.rename_directory(bad, f"{good}.2"),
            lambda bad=bad: store.rename_directory(f"{root}/old/x", bad),
            lambda bad=bad: store.create(bad, "x"),
            lambda bad=bad: store.replace(bad, "x"),
        ):
            with pytest.raises(RefusedError):
                change()
    assert tree(store, root) == {"old/good", "precious"}


def test_many_paths_are_seen_as_each_is_alone(spark: SparkSession, store: WalStore, root: str) -> None:
    """Hadoop's store lists their directory, instead of asking for each."""
    uris = make_many(spark, root, 120)
    store.make_directories([f"{root}/old/h1%2C5.30x"])
    missing = [f"{root}/old/{name}" for name in ("h1%2C5.555", "i", "zz", "h1%2C5.")]
    odd = [f"old/{name}" for name in ("älter", "h1%2C5.é", "h1%2C5.1ä0")]
    make_files(spark, root, odd)
    asked = [
        *(f"{root}/{name}" for name in odd),
        *reversed(uris[10:100]),
        f"{root}/old/h1%2C5.30x",
        *missing,
        f"{root}/quarantine",
    ]
    alone = [store.seen([uri])[0] for uri in asked]
    assert [one is not None and one.is_file for one in alone] == [True] * 93 + [False] * 6
    assert [one is None for one in alone] == [False] * 94 + [True] * 4 + [False]
    assert store.seen(asked) == alone
    assert store.seen([f"{root}/none/{number}" for number in range(60)]) == [None] * 60


def test_of_many_renames_each_has_its_own_answer(spark: SparkSession, store: WalStore, root: str) -> None:
    """Hadoop's store looks at their sources together: a directory among them stays, and the others are moved.

    What is said of a missing file names its path, and no word of that means that nobody answers.
    """
    uris = make_many(spark, root, 100)
    store.make_directories([f"{root}/old/h1%2C5.30x"])
    make_files(spark, root, ["quarantine/h1%2C5.7"])
    sources = [*uris[:50], f"{root}/old/h1%2C5.30x", f"{root}/old/h1%2C5.gone", f"{root}/old/Standby/a", *uris[50:]]
    answers = store.move([Move(uri, uri.replace("/old/", "/quarantine/")) for uri in sources])
    gone = "FileNotFoundException"
    expected = {7: "FileAlreadyExistsException", 50: "NotAFile", 51: gone, 52: gone}
    assert [answer and answer.partition(":")[0] for answer in answers] == [expected.get(n) for n in range(103)]
    assert store.names(f"{root}/old") == ["h1%2C5.30x", "h1%2C5.7"]


@pytest.mark.parametrize("kind", ["hadoop"], indirect=True)
def test_a_listing_finds_names_with_letters_beyond_ascii(spark: SparkSession, root: str) -> None:
    """The name node puts them before all others: for it, bytes have a sign."""
    names = [uri.rpartition("/")[2] for uri in make_many(spark, root, 60)]
    odd = ["älter", "h1%2C5.é"]
    make_files(spark, root, [f"old/{name}" for name in odd])
    hadoop = HadoopJvm.of(spark)
    listing = HadoopListing(hadoop, hadoop.path(root).getFileSystem(hadoop.conf))
    shown = listing.look(f"{root}/old", [*names, *odd])
    assert shown is not None
    assert [one is not None and one.is_file for one in shown] == [True] * 62
    assert listing.look(f"{root}/none", names) == [None] * 60


@pytest.mark.long
@pytest.mark.parametrize("kind", ["hadoop"], indirect=True)
def test_names_far_apart_are_not_looked_for_in_a_listing(spark: SparkSession, root: str) -> None:
    names = [uri.rpartition("/")[2] for uri in make_many(spark, root, 2_500)]
    hadoop = HadoopJvm.of(spark)
    listing = HadoopListing(hadoop, hadoop.path(root).getFileSystem(hadoop.conf))
    near, far = sorted(names)[:1_500], sorted(names)[::1_200]
    shown = listing.look(f"{root}/old", near)
    assert shown is not None
    assert [one.is_file for one in shown if one] == [True] * 1_500
    assert listing.look(f"{root}/old", far) is None


@pytest.mark.long
def test_thousands_of_files_in_one_call(spark: SparkSession, store: WalStore, root: str, kind: str) -> None:
    count = MANY[kind]
    moves = [Move(uri, uri.replace("/old/", "/quarantine/")) for uri in make_many(spark, root, count)]
    assert all(store.seen([move.source for move in moves]))
    assert store.move(moves) == [None] * count
    assert len(tree(store, f"{root}/quarantine")) == count
    assert store.delete([move.target for move in moves]) == [None] * count
    assert tree(store, root) == set()


def make_many(spark: SparkSession, root: str, count: int) -> list[str]:
    """Empty files `old/h1%2C5.<index>`."""
    names = [f"old/h1%2C5.{index}" for index in range(count)]
    assert make_files(spark, root, names) == count
    return [f"{root}/{name}" for name in names]


def test_a_server_that_is_not_there(spark: SparkSession, root: str, kind: str) -> None:
    gone = "hdfs://localhost:1"
    calls: FileCalls
    if kind == "webhdfs":
        calls = WebHdfsCalls(["http://localhost:1"], "me", 2_000)
    else:
        calls = HadoopCalls(HadoopJvm.of(spark), f"{gone}/hbase", {"ipc.client.connect.max.retries": "0"})
    store = FileSystemWalStore(calls, f"{gone}/hbase", [f"{gone}/hbase/oldWALs"])
    with pytest.raises(UnavailableError, match="Connect"):
        store.seen([f"{gone}/hbase/oldWALs/{index}" for index in range(1_000)])
    with pytest.raises(UnavailableError, match="Connect"):
        store.delete([f"{gone}/hbase/oldWALs/a"])
    assert root
