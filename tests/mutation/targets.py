"""Which modules are changed, and which tests judge them: the one place that names them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A module of the product.

    Attributes:
        name: of its own here and in the record, so that the module may move.
        module: as it is imported.
        words: functions that only make words for people, by qualname: they are not changed.
    """

    name: str
    module: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Modules that the same tests judge.

    Attributes:
        tests: files below the project; of them those run that come by the changed line.
        spark: the tests need a Spark session, which is started once; else each change has a process of its own.
        leave_out: tests that need more than that, or take long and judge nothing that others do not: a part of each
            one's name.
    """

    name: str
    targets: tuple[Target, ...]
    tests: tuple[str, ...]
    spark: bool = False
    leave_out: tuple[str, ...] = ()


_RULE = Group(
    "rule",
    (
        Target("verdict", "pipelines.decide.rule.verdict"),
        Target("table_rule", "pipelines.decide.rule.table_rule"),
        Target("zookeeper_rule", "pipelines.decide.rule.zookeeper_rule"),
        Target("cleaner_rule", "pipelines.decide.rule.cleaner_rule"),
        Target("cluster_view", "pipelines.decide.rule.cluster_view"),
        Target("table_storage", "pipelines.decide.rule.table_queue_storage"),
        Target("zookeeper_storage", "pipelines.decide.rule.zookeeper_queue_storage"),
        Target("zookeeper_queued", "pipelines.hbase.zookeeper.queued_wals"),
        Target("trust", "pipelines.decide.rule.trust"),
        Target("zookeeper_trust", "pipelines.decide.rule.zookeeper_trust"),
        Target("capture_order", "pipelines.snapshot.capture_order"),
        Target("capture_clocks", "pipelines.snapshot.capture_clocks"),
        Target("known_servers", "pipelines.hbase.known_servers"),
        Target("wal_names", "pipelines.hbase.wal_names"),
        Target("server_names", "pipelines.hbase.server_names"),
        Target("replication_queues", "pipelines.hbase.replication_queues"),
        Target("delete_list", "pipelines.reconcile.delete_list"),
    ),
    (
        "tests/unit/decide/test_reason_order.py",
        "tests/unit/decide/test_replication_rule.py",
        "tests/unit/decide/test_cluster_view.py",
        "tests/unit/snapshot/test_capture_order.py",
        "tests/unit/decide/test_trust.py",
        "tests/unit/decide/test_queued_wals.py",
        "tests/unit/decide/test_queue_storages.py",
        "tests/unit/decide/test_zookeeper_failover.py",
        "tests/unit/decide/test_zookeeper_trust.py",
        "tests/unit/decide/test_zookeeper_rule.py",
        "tests/unit/decide/test_judge_corpus.py",
        "tests/contract/test_cleaner_cases.py",
        "tests/contract/test_golden_names.py",
        "tests/unit/hbase/test_replication_queues.py",
        "tests/unit/hbase/test_zookeeper_tree.py",
        "tests/unit/hbase/test_server_names.py",
        "tests/unit/hbase/test_wal_names.py",
        "tests/unit/reconcile/test_delete_list.py",
        "tests/unit/queues/test_znode_queues.py",
    ),
    # the others say in milliseconds what these look for in drawn clusters
    leave_out=("test_the_table_says", "test_hbase_would_delete", "test_the_page_shows", "test_a_mutant_is_caught"),
)

_CAPTURE = Group(
    "capture",
    (
        Target("capture", "pipelines.capture.capture"),
        Target("capture_zookeeper", "pipelines.capture.capture_zookeeper"),
        Target("timeline", "pipelines.capture.timeline"),
    ),
    (
        "tests/unit/capture/test_asking_order.py",
        "tests/unit/capture/test_backup_stated.py",
        "tests/unit/capture/test_clocks_of_steps.py",
        "tests/unit/capture/test_cut_inputs.py",
        "tests/unit/capture/test_exported_znodes.py",
        "tests/unit/capture/test_other_storages.py",
        "tests/unit/capture/test_refused_clusters.py",
        "tests/unit/capture/test_restless_clusters.py",
        "tests/unit/capture/test_secrets_of_peers.py",
        "tests/unit/capture/test_sources_in_order.py",
    ),
)

_CASES = Group(
    "clusters of a run",
    (Target("cluster_cases", "pipelines.reconcile.cluster_cases"),),
    ("tests/unit/reconcile/test_cluster_cases.py",),
)

_TABLES = Group(
    "tables of the rule",
    (
        Target("decision_table", "pipelines.decide.rule.decision_table"),
        Target("zookeeper_name_table", "pipelines.decide.rule.name_table"),
    ),
    (
        "tests/unit/decide/test_decision_table.py",
        "tests/unit/decide/test_table_of_a_cluster.py",
        "tests/unit/decide/test_zookeeper_failover.py",
        "tests/unit/decide/test_zookeeper_names.py",
        "tests/unit/decide/test_zookeeper_rule.py",
    ),
)

_CLEAN_UP = Group(
    "clean-up",
    (
        Target("lease", "pipelines.cleanup.lease"),
        Target("settling", "pipelines.cleanup.intent_outcome"),
        Target("deletions", "pipelines.cleanup.deletions"),
        Target("quarantine", "pipelines.cleanup.quarantine"),
        Target("overlap", "pipelines.cleanup.overlap"),
        Target("paths", "pipelines.cleanup.paths"),
        Target("holder", "pipelines.cleanup.holder"),
        Target("looking", "pipelines.cleanup.current_reads"),
        Target("settle", "pipelines.cleanup.settle_intents"),
        Target("moving", "pipelines.cleanup.move_files", words=("_changed",)),
        Target("deleting", "pipelines.cleanup.delete_files"),
        Target("purge", "pipelines.cleanup.purge"),
        Target("restore", "pipelines.cleanup.restore", words=("_answer",)),
        Target("clean", "pipelines.cleanup.clean"),
        Target("list_checks", "pipelines.cleanup.list_checks"),
        Target("cleanup_ports", "pipelines.cleanup.request"),
        Target("onlooker", "pipelines.cleanup.read_only_holder"),
        Target("paused", "pipelines.cleanup.pause_checks"),
        Target("resting", "pipelines.cleanup.quarantined_files"),
        Target(
            "purge_answer",
            "pipelines.cleanup.purge_answer",
            words=("RunPurge.lines", "RunPurge._unsettled", "purge_outcome"),
        ),
    ),
    (
        "tests/unit/cleanup/test_times.py",
        "tests/unit/cleanup/test_odd_answers.py",
        "tests/unit/cleanup/test_looks.py",
        "tests/unit/cleanup/test_rehearsals.py",
        "tests/unit/cleanup/test_list_end.py",
        "tests/unit/cleanup/test_odd_directories.py",
        "tests/unit/cleanup/test_clean.py",
        "tests/unit/cleanup/test_list_refusals.py",
        "tests/unit/cleanup/test_current_reads.py",
        "tests/unit/cleanup/test_decided_run.py",
        "tests/unit/cleanup/test_deletions.py",
        "tests/unit/cleanup/test_holder.py",
        "tests/unit/cleanup/test_moving.py",
        "tests/unit/cleanup/test_purge.py",
        "tests/unit/cleanup/test_purge_end.py",
        "tests/unit/cleanup/test_purge_request.py",
        "tests/unit/cleanup/test_purge_answer.py",
        "tests/unit/cleanup/test_restore.py",
        "tests/unit/cleanup/test_settle.py",
        "tests/unit/cleanup/test_taken_over.py",
        "tests/unit/cleanup/test_machine.py",
        "tests/unit/cleanup/test_overlap.py",
        "tests/unit/cleanup/test_paths.py",
        "tests/unit/cleanup/test_paused.py",
    ),
    # they disturb a job at each of its steps; the others say at which step it matters, in milliseconds
    leave_out=(
        "test_killed_at_any_step",
        "test_a_holder_that_sleeps_past",
        "test_a_file_made_anew_at_any_step",
        "test_a_file_made_anew_under_a_job_that_dies",
        "test_hbases_cleaner_at_any_step",
        "test_files_that_a_person_put_back_after_a_job_died",
        "test_a_client_that_reads_behind",
        "test_nor_does_one_that_asks_several",
        "TestCleanupMachine",
    ),
)

_STORES = Group(
    "stores",
    (
        Target("store_failures", "pipelines.cleanup.stores.store_failures"),
        Target("wal_store", "pipelines.cleanup.stores.wal_store"),
        Target("wal_guard", "pipelines.cleanup.stores.wal_guard"),
        Target("wal_walk", "pipelines.cleanup.stores.wal_walk"),
        Target("file_calls", "pipelines.cleanup.stores.file_calls"),
        Target("local_calls", "pipelines.cleanup.stores.local_calls"),
        Target("webhdfs_calls", "pipelines.cleanup.stores.webhdfs_calls"),
    ),
    (
        "tests/unit/cleanup/test_local_calls.py",
        "tests/unit/cleanup/test_local_wal_store.py",
        "tests/unit/cleanup/test_store_failures.py",
        "tests/unit/cleanup/test_wal_store.py",
        "tests/unit/cleanup/test_wal_store_failures.py",
        "tests/unit/cleanup/test_webhdfs_requests.py",
        "tests/unit/cleanup/test_webhdfs_wal_store.py",
    ),
)

_HADOOP_STORE = Group(
    "store through Hadoop",
    (Target("hadoop_calls", "pipelines.cleanup.stores.hadoop_calls"),),
    (
        "tests/integration/test_wal_store.py",
        "tests/spark/test_observer_reads.py",
        "tests/unit/cleanup/test_hadoop_calls.py",
    ),
    spark=True,
    leave_out=("test_thousands_of_files_in_one_call",),
)

_SPARK_RULE = Group(
    "rule in Spark",
    (
        Target("spark_verdicts", "pipelines.decide.spark.verdicts"),
        Target("spark_lookup", "pipelines.decide.spark.lookup"),
        Target("spark_decision_frames", "pipelines.decide.spark.decision_frames"),
        Target("spark_queued_names", "pipelines.decide.spark.queued_names"),
        Target("spark_wal_names", "pipelines.decide.spark.wal_names"),
    ),
    ("tests/spark/test_verdicts.py", "tests/spark/test_verdicts_by_name.py", "tests/spark/test_wal_names.py"),
    spark=True,
    # the compiled variants give the same answers, and Spark would compile the queries again for every change
    leave_out=("[compiled",),
)

_ARCHIVE = Group(
    "archive of the clean-up",
    (Target("archive", "pipelines.cleanup.archive"),),
    ("tests/spark/test_archive.py",),
    spark=True,
)

_PLANS = Group(
    "plans of the clean-up",
    (Target("clean_plan", "pipelines.cleanup.clean_plan"),),
    ("tests/spark/test_clean_plan.py",),
    spark=True,
)

_AUDIT = Group(
    "audit of the clean-up",
    (Target("cleanup_audit", "pipelines.cleanup.audit"),),
    ("tests/spark/test_audit_rows.py", "tests/spark/test_cleanup_audit.py"),
    spark=True,
)

_LAKE = Group(
    "clean-up on Spark",
    (Target("second_look", "pipelines.cleanup.second_look"),),
    (
        "tests/spark/test_cleanup.py",
        "tests/spark/test_cleanup_purge.py",
        "tests/spark/test_cleanup_second_try.py",
        "tests/unit/cleanup/test_second_look.py",
    ),
    spark=True,
)

_LISTS = Group(
    "delete lists",
    (
        Target("list_reader", "pipelines.reconcile.list_reader"),
        Target("list_writer", "pipelines.reconcile.list_writer"),
        Target("list_parts", "pipelines.reconcile.list_parts"),
    ),
    (
        "tests/unit/reconcile/test_list_parts.py",
        "tests/spark/test_list_parts.py",
        "tests/spark/test_delete_lists.py",
    ),
    spark=True,
    leave_out=("test_parts_are_the_same_bytes",),  # two whole nights
)

GROUPS = (
    _RULE,
    _CAPTURE,
    _CASES,
    _CLEAN_UP,
    _STORES,
    _HADOOP_STORE,
    _TABLES,
    _SPARK_RULE,
    _ARCHIVE,
    _PLANS,
    _AUDIT,
    _LAKE,
    _LISTS,
)
"""In the order of danger."""
