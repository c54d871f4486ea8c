"""Which rows split-plan counts."""

import pyarrow as pa

from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.transforms.plan_rows import hash_rows


def test_a_row_in_another_partition_is_a_copy() -> None:
    keys = [encode_key(b"user%d" % number, b"s") for number in range(20)]
    owners = [key_hash(key) % 4 for key in keys]
    columns = {
        "key": [*keys, *keys, *keys, b"\0", b""],
        "size": [1] * 62,
        "index": [*owners, *(owner ^ 2 for owner in owners), *[-1] * 20, 3, 3],
    }
    (found,) = hash_rows(4)(iter(pa.table(columns).to_batches()))
    assert found.column("copy").to_pylist() == [*[False] * 20, *[True] * 20, *[False] * 21]
    assert found.column("malformed").to_pylist() == [*[False] * 60, True]
