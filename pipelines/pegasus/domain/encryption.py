"""Files that Pegasus has encrypted: they begin with a header of its RocksDB plugin, whatever they hold."""

from pipelines.common.errors import RefusedError

MAGIC = b"pegsenc"
"""`kEncryptionHeaderMagic` of pegasus-kv/encfs, with which `[pegasus.server] encrypt_data_at_rest` writes every file of
a replica: a header of 64 bytes (this, the method, the file's key encrypted by the server's), then AES or SM4 in CTR."""


def is_encrypted(head: bytes) -> bool:
    """Whether a file that begins with these bytes is encrypted."""
    return head.startswith(MAGIC)


def refuse_encrypted(head: bytes, where: str) -> None:
    """Stop at an encrypted file.

    Args:
        head: its first bytes, `len(MAGIC)` at least.
        where: its name.

    Raises:
        RefusedError: it is encrypted; walsafe has no key of a server and asks no KMS for one.
    """
    if is_encrypted(head):
        raise RefusedError(
            f"{where} is encrypted by Pegasus (encrypt_data_at_rest), and nobody but its server has the key. Export "
            "the table's rows through a client as Parquet, and give those (docs/split-rows.md)"
        )
