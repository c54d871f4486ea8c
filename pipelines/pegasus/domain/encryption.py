"""Detects files that Pegasus has encrypted: each begins with the header of Pegasus's RocksDB encryption plugin."""

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError

MAGIC = b"pegsenc"
"""`kEncryptionHeaderMagic` of pegasus-kv/encfs. With `[pegasus.server] encrypt_data_at_rest`, every file of a replica
begins with a header of 64 bytes (this magic, the method, the file's key encrypted with the server's key). AES or SM4 in
CTR mode follows.
"""


def is_encrypted(head: bytes) -> bool:
    """Returns whether a file that begins with these bytes is encrypted."""
    return head.startswith(MAGIC)


def refuse_encrypted(head: bytes, where: str) -> None:
    """Refuses an encrypted file.

    Args:
        head: the first bytes of the file, at least `len(MAGIC)`.
        where: the file's name.

    Raises:
        RefusedError: the file is encrypted; walsafe has no server key and does not ask a KMS for one.
    """
    if is_encrypted(head):
        raise RefusedError(
            Condition.DATA_ENCRYPTED,
            f"{where} is encrypted by Pegasus (encrypt_data_at_rest), and only its server has the key. Export "
            "the table's rows through a client as Parquet, and give that directory (docs/split-rows.md)",
        )
