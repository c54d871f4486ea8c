"""Keys, hashes, values and routing against vectors on which four implementations of CRC-64/NVME agree."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.crc64 import TABLE, crc64
from pipelines.pegasus.domain.keys import SplitKey, decode_key, encode_key, key_hash
from pipelines.pegasus.domain.partitions import is_owner, partition_index, primary_answer, target_partition
from pipelines.pegasus.domain.values import EPOCH_S, StoredValue, Timetag, decode_value, encode_value, is_expired
from pipelines.pegasus.transforms.key_columns import binary_column, key_hashes, partition_indexes
from tests.labs.places import TESTS

VECTORS: dict[str, Any] = json.loads((TESTS / "golden/pegasus/vectors.json").read_text())
KEYS: list[dict[str, Any]] = VECTORS["keys"]
COUNTS = (4, 8, 16, 64)


def test_the_algorithm_is_the_catalogues() -> None:
    named = VECTORS["algorithm"]
    assert f"{crc64(b'123456789'):016x}" == named["check_123456789"]
    assert f"{crc64(b''):016x}" == named["crc_of_empty"]
    assert {f"T[{n}]": f"{TABLE[n]:016x}" for n in (1, 128, 255)} == VECTORS["table_samples"]


@pytest.mark.parametrize("vector", KEYS, ids=lambda vector: str(vector["name"]))
def test_a_key_goes_where_pegasus_puts_it(vector: dict[str, Any]) -> None:
    key = SplitKey(bytes.fromhex(vector["hash_key_hex"]), bytes.fromhex(vector["sort_key_hex"]))
    raw = bytes.fromhex(vector["raw_key_hex"])
    assert encode_key(*key) == raw
    assert decode_key(raw) == key
    found = key_hash(raw)
    assert f"{found:016x}" == vector["crc64_hex"]
    assert str(found) == vector["crc64_unsigned"]
    for count in COUNTS:
        index = vector["partition"][str(count)]
        assert partition_index(found, count) == index
        assert partition_index(vector["crc64_signed"], count) == index
        assert is_owner(found, index, count - 1) == vector["mask_equals_mod"]


def test_columns_of_keys_go_there_too() -> None:
    raw = [bytes.fromhex(vector["raw_key_hex"]) for vector in KEYS]
    found = key_hashes(binary_column(pa.array(raw, pa.binary())))
    assert [f"{value:016x}" for value in found.hashes.tolist()] == [vector["crc64_hex"] for vector in KEYS]
    assert found.hashes.view(np.int64).tolist() == [vector["crc64_signed"] for vector in KEYS]
    assert not found.malformed.any()
    assert not found.empty.any()
    for count in COUNTS:
        indexes = [vector["partition"][str(count)] for vector in KEYS]
        assert partition_indexes(found.hashes, count).tolist() == indexes


@pytest.mark.parametrize("vector", VECTORS["value_vectors"], ids=lambda vector: f"version-{vector['version']}")
def test_a_value_is_read_and_written_as_pegasus_does(vector: dict[str, Any]) -> None:
    timetag = None
    if "timestamp_us" in vector:
        timetag = Timetag(vector["timestamp_us"], vector["cluster_id"], bool(vector["deleted"]))
    value = StoredValue(vector["version"], vector["expire_ts"], timetag, vector["user_data"].encode())
    raw = bytes.fromhex(vector["raw_hex"])
    assert encode_value(value) == raw
    assert decode_value(raw, min(value.version, 1)) == value
    for length in range(len(raw) - len(value.data)):
        with pytest.raises(MalformedError, match=r"value of \d+ bytes"):
            decode_value(raw[:length], min(value.version, 1))


def test_expiry_counts_from_2016() -> None:
    assert f"({EPOCH_S})" in VECTORS["expire_epoch"]
    assert [is_expired(expire, EPOCH_S + 5) for expire in (0, 4, 5, 6)] == [False, True, True, False]


@pytest.mark.parametrize("case", VECTORS["routing_server"], ids=lambda case: str(case["case"]))
def test_a_primary_answers_as_the_seed_says(case: dict[str, Any]) -> None:
    found = primary_answer(case["hash"], case["partition_index"], case["partition_version"])
    assert found.value == case["result"]


@pytest.mark.parametrize("case", VECTORS["routing_client"], ids=str)
def test_a_client_asks_whom_the_seed_says(case: dict[str, Any]) -> None:
    count = case["client_partition_count"]
    ballot = case["ballots"].get(str(partition_index(case["hash"], count)))
    assert target_partition(case["hash"], count, ballot) == case["target"]
