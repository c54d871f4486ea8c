"""The shape of `findings.evidence` of the split jobs, by the code of the finding, as in `finding_evidence.py`.

docs/split-rules.md shows this table, and every such finding that the tests produce is compared with it.
"""

from collections.abc import Mapping

from scripts.finding_evidence import EvidenceValue

_UNKNOWN = EvidenceValue("boolean", "true if the state does not say whether the rule is broken", always=False)
_PARTITIONS = EvidenceValue("list of numbers", "some of the partitions")
_ROWS = EvidenceValue("number", "the rows")
_MAYBE_ROWS = EvidenceValue("number", "the rows", always=False)
_MAYBE_BYTES = EvidenceValue("number", "bytes of these rows; from `split-stale`", always=False)
_MAYBE_PARTITIONS = EvidenceValue("list of numbers", "some of the partitions", always=False)
_ROWS_ELSEWHERE: Mapping[str, EvidenceValue] = {
    "rows": _ROWS,
    "partitions": _PARTITIONS,
    "samples": EvidenceValue("list of strings", "some of the keys; from `split-run`", always=False),
}
_DECREES: Mapping[str, EvidenceValue] = {
    "decrees": EvidenceValue("number", "how many decrees"),
    "first": EvidenceValue("number", "the first of them"),
    "last": EvidenceValue("number", "the last of them"),
}
_MAYBE_DECREES: Mapping[str, EvidenceValue] = {
    name: EvidenceValue(one.kind, one.meaning, always=False) for name, one in _DECREES.items()
}
_REQUESTS: Mapping[str, EvidenceValue] = {
    "requests": EvidenceValue("number", "how many requests"),
    "line": EvidenceValue("number", "the line of the first one in the journal"),
}

SPLIT_EVIDENCE: Mapping[str, Mapping[str, EvidenceValue]] = {
    "SPLIT_C1": {
        "deleted_share": EvidenceValue(
            "fraction", "share of the keys that compaction would delete; from `split-preflight`", always=False
        ),
        "rows": _MAYBE_ROWS,
        "bytes": _MAYBE_BYTES,
    },
    "SPLIT_C2": {
        "before": EvidenceValue(
            "string", "where the earlier state comes from; from `split-audit-config`", always=False
        ),
        "after": EvidenceValue("string", "where the later state comes from; from `split-audit-config`", always=False),
        "wanted": EvidenceValue("number", "the number that was asked for; from `split-preflight`", always=False),
    },
    "SPLIT_C3": {"partition_count": EvidenceValue("number", "meta's number of partitions")},
    "SPLIT_C4": {"nodes": EvidenceValue("list of strings", "the nodes that serve the child")},
    "SPLIT_C5": {
        "child_ballot": EvidenceValue("number", "the child's ballot", always=False),
        "parent_ballots": EvidenceValue("list of numbers", "the parent's ballot before and after", always=False),
    },
    "SPLIT_C6": {
        "before": EvidenceValue("number", "the ballot before, if it went back", always=False),
        "after": EvidenceValue("number", "the ballot after, if it went back", always=False),
        "ballot": EvidenceValue("number", "the ballot after, if it grew", always=False),
    },
    "SPLIT_C7": {
        "partitions": EvidenceValue("list of numbers", "some of the partitions; from `split-preflight`", always=False),
        "init_partition_count": EvidenceValue(
            "number", "partitions at the table's creation; from `split-audit-config`", always=False, may_be_null=True
        ),
    },
    "SPLIT_C8": {
        "states": EvidenceValue("object", "meta's state of the split by parent", always=False),
        "waiting": EvidenceValue("list of numbers", "the parents whose children are at ballot -1", always=False),
        "before": EvidenceValue("string", "where the state of the earlier leader comes from", always=False),
    },
    "SPLIT_C9": {"unknown": _UNKNOWN, "rows": _MAYBE_ROWS, "bytes": _MAYBE_BYTES},
    "SPLIT_C11": {"partitions": _PARTITIONS},
    "SPLIT_C12": {
        "children": EvidenceValue("list of numbers", "some of the children that wait", always=False),
        "unknown": _UNKNOWN,
    },
    "SPLIT_F37": {
        "used": EvidenceValue("number", "used bytes of the disk", always=False),
        "capacity": EvidenceValue("number", "bytes of the disk", always=False),
        "table_bytes": EvidenceValue("number", "bytes of the table on the disk", always=False),
        "unknown": _UNKNOWN,
    },
    "SPLIT_STUCK": {"waited_ms": EvidenceValue("number", "how long the child has waited, ms")},
    "SPLIT_R1": {
        "counts": EvidenceValue("object", "by node, the number in `.app-info`", always=False),
        "files": EvidenceValue(
            "number", "files that could not be read; from `split-run` and `split-export`", always=False
        ),
    },
    "SPLIT_R2": {
        "version": EvidenceValue("number", "the partition version", always=False),
        "rejected_ms": EvidenceValue("number", "how long it has been -1, ms", always=False),
    },
    "SPLIT_R3": {},
    "SPLIT_R4": {
        "replicas": EvidenceValue(
            "number", "replicas without `.init-info`; from `split-run` and `split-export`", always=False
        ),
    },
    "SPLIT_R5": {"lasting_ms": EvidenceValue("number", "how long it has been so, ms")},
    "SPLIT_R6": {"nodes": EvidenceValue("list of strings", "the servers on which meta has the partition")},
    "SPLIT_L1": {
        "blocks": EvidenceValue("number", "blocks that cannot be read", always=False),
        "mutations": EvidenceValue("number", "mutations of another partition", always=False),
        "expected_index": EvidenceValue("number", "the index that should follow", always=False),
        "expected_offset": EvidenceValue("number", "the offset at which it should begin", always=False),
    },
    "SPLIT_L2": {
        **_MAYBE_DECREES,
        "mutations": EvidenceValue("number", "how many times the ballot goes back", always=False),
        "left_out": EvidenceValue(
            "list of numbers",
            "some decrees that are not in the output; from `split-run` and `split-export`",
            always=False,
        ),
    },
    "SPLIT_L3": {
        **_MAYBE_DECREES,
        "copied": EvidenceValue("number", "the last decree that the child copied", always=False),
        "sync_point": EvidenceValue("number", "the decree of the sync point", always=False),
    },
    "SPLIT_L4": _DECREES,
    "SPLIT_L5": _DECREES,
    "SPLIT_L6": {
        **_MAYBE_DECREES,
        "replicas": EvidenceValue(
            "number", "replicas without a log; from `split-run` and `split-export`", always=False
        ),
    },
    "SPLIT_D1": _ROWS_ELSEWHERE,
    "SPLIT_D2": {"rows": _ROWS, "partitions": _PARTITIONS},
    "SPLIT_D3": _ROWS_ELSEWHERE,
    "SPLIT_D4": {"rows": _ROWS, "bytes": _MAYBE_BYTES, "partitions": _MAYBE_PARTITIONS},
    "SPLIT_D5": _ROWS_ELSEWHERE,
    "SPLIT_D6": {
        "rows": _MAYBE_ROWS,
        "partitions": _MAYBE_PARTITIONS,
        "keys": EvidenceValue("number", "the keys; from `split-plan`", always=False),
    },
    "SPLIT_D7": {"partitions": _PARTITIONS},
    "SPLIT_MODEL": {"broken": EvidenceValue("string", "the invariant that breaks")},
    "SPLIT_Q1": _REQUESTS,
    "SPLIT_Q2": _REQUESTS,
    "SPLIT_Q3": _REQUESTS,
    "SPLIT_Q4": _REQUESTS,
    "SPLIT_Q5": _REQUESTS,
    "SPLIT_HOT_KEY": {
        "bytes": EvidenceValue("number", "bytes of the hash key"),
        "rows": EvidenceValue("number", "its rows"),
    },
    "SPLIT_SKEW": {"parents": EvidenceValue("list of numbers", "at most 20 of the parents")},
}
"""The values by the finding's code; `{}` = the message says all."""
