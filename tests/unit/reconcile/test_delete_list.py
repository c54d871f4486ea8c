"""The manifest of a delete-safe list: its text, and what is refused."""

import json
from hashlib import sha256
from typing import Any

import pytest

from pipelines.common.errors import RefusedError
from pipelines.reconcile.delete_list import ListPart, Manifest, list_sha256, manifest_json, parse_manifest, part_name

ONE, TWO = "1" * 64, "a" * 64
WHERE = "hdfs://ns1/lists/prod/n1/manifest.json"
MANIFEST = Manifest(
    "prod", "id", "n1", TWO, 1_790_000_000_000, 1_790_086_400_000, 3, 77,
    (ListPart("part-00000.txt", 2, ONE), ListPart("part-00001.txt", 1, TWO)),
)  # fmt: skip
TEXT = f"""{{
 "format": 1,
 "cluster": "prod",
 "cluster_id": "id",
 "run_id": "n1",
 "snapshot_sha256": "{TWO}",
 "decided_at": "2026-09-21T14:13:20.000Z",
 "not_after": "2026-09-22T14:13:20.000Z",
 "files": 3,
 "bytes": 77,
 "parts": [
  {{
   "name": "part-00000.txt",
   "lines": 2,
   "sha256": "{ONE}"
  }},
  {{
   "name": "part-00001.txt",
   "lines": 1,
   "sha256": "{TWO}"
  }}
 ]
}}
"""


def changed(*path: str | int, value: object) -> str:
    """The text with another value at that place; `...` leaves the key out."""
    document: Any = json.loads(TEXT)
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    if value is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return json.dumps(document)


def test_a_manifest_is_written_as_the_format_says_and_read_back() -> None:
    assert manifest_json(MANIFEST) == TEXT
    assert parse_manifest(TEXT, WHERE) == MANIFEST


def test_the_digest_of_a_list_is_that_of_its_manifest() -> None:
    assert list_sha256(MANIFEST) == sha256(TEXT.encode()).hexdigest()


def test_a_cluster_without_an_id_is_read() -> None:
    found = parse_manifest(changed("cluster_id", value=None), WHERE)
    assert found.cluster_id is None


@pytest.mark.parametrize(
    ("number", "name"), [(0, "part-00000.txt"), (99_999, "part-99999.txt"), (100_000, "part-100000.txt")]
)
def test_names_of_parts(number: int, name: str) -> None:
    assert part_name(number) == name
    assert parse_manifest(changed("parts", 0, "name", value=name), WHERE).parts[0].name == name


@pytest.mark.parametrize("number", [0, 2])
def test_another_format_is_refused(number: int) -> None:
    with pytest.raises(RefusedError, match=f"^{WHERE}: only format 1 is known$"):
        parse_manifest(changed("format", value=number), WHERE)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(TEXT[:-10], id="cut"),
        pytest.param("[]", id="a list"),
        pytest.param(changed("more", value=1), id="a key too many"),
        pytest.param(changed("parts", 1, "more", value=1), id="a key too many in a part"),
        pytest.param(changed("cluster", value="../x"), id="a cluster that is no name"),
        pytest.param(changed("run_id", value="a/b"), id="a run that is no name"),
        pytest.param(changed("snapshot_sha256", value="x" * 64), id="a snapshot digest that is not hexadecimal"),
        pytest.param(changed("decided_at", value="yesterday"), id="a decided_at that is no instant"),
        pytest.param(changed("not_after", value="2026-13-01T00:00:00Z"), id="a not_after in a 13th month"),
        pytest.param(changed("files", value=-1), id="fewer files than none"),
        pytest.param(changed("bytes", value=-1), id="fewer bytes than none"),
        pytest.param(changed("files", value="3"), id="a number as a text"),
        pytest.param(changed("parts", 0, "name", value="../part-00000.txt"), id="a part elsewhere"),
        pytest.param(changed("parts", 0, "lines", value=-1), id="fewer lines than none"),
        pytest.param(changed("parts", 0, "sha256", value=ONE[:-1]), id="a part digest that is too short"),
        *(pytest.param(changed(key, value=...), id=f"no {key}") for key in json.loads(TEXT) if key != "cluster_id"),
        *(
            pytest.param(changed("parts", 1, key, value=...), id=f"a part without {key}")
            for key in ("name", "lines", "sha256")
        ),
    ],
)
def test_what_is_not_a_whole_manifest_is_refused_with_its_place_and_the_way_out(text: str) -> None:
    with pytest.raises(RefusedError, match=rf"^{WHERE}.*; reconcile again under another --run-id$"):
        parse_manifest(text, WHERE)
