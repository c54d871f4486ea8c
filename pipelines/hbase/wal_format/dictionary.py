"""The dictionaries of compressed WALs (HBase `LRUDictionary`)."""

from collections import OrderedDict

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import CutOffError
from pipelines.hbase.wal_format.window import FileWindow

LARGE = 2**15 - 1
SMALL = 2**7 - 1
NOT_IN_DICTIONARY = 0xFF


class LruDictionary:
    """A dictionary of limited capacity; a new text replaces the least recently used one.

    Both adding and looking up make a text the most recently used one. The writer's dictionary does the same, so reader
    and writer agree.
    """

    __slots__ = ("_capacity", "_texts")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._texts: OrderedDict[int, bytes] = OrderedDict()

    def add(self, text: bytes) -> None:
        """Adds a text; empty texts are not stored (`addEntryInternal`)."""
        if text:
            full = len(self._texts) >= self._capacity
            place = self._texts.popitem(last=False)[0] if full else len(self._texts)
            self._texts[place] = text

    def get(self, place: int) -> bytes:
        """Returns the text at a place.

        Raises:
            MalformedError: the dictionary has no text at this place.
        """
        try:
            self._texts.move_to_end(place)
        except KeyError:
            raise MalformedError(f"no text {place} in a dictionary of {len(self._texts)}") from None
        return self._texts[place]

    def item(self, window: FileWindow) -> bytes:
        """Reads an item, which is either a place in the dictionary or a new text, and returns its text.

        Raises:
            CutOffError: the file ends inside the item.
            MalformedError: the dictionary has no such place.
        """
        status = window.byte()
        if status != NOT_IN_DICTIONARY:
            return self.get(status << 8 | window.byte())
        text = window.take(window.varint())
        self.add(text)
        return text

    def item_of(self, text: bytes) -> bytes:
        """Reads an item that fills a whole field (`WALCellCodec.uncompressByteString`) and returns its text.

        Raises:
            MalformedError: the field ends inside the item, or the dictionary has no such place.
        """
        rest = FileWindow(lambda _count: b"")
        rest.data = text
        try:
            return self.item(rest)
        except CutOffError:
            raise MalformedError("a field ends inside an item of the dictionary") from None


class Dictionaries:
    """All dictionaries of one file (`CompressionContext`); attribute values share the dictionary of table names."""

    __slots__ = ("family", "qualifier", "region", "row", "table", "tags")

    def __init__(self) -> None:
        self.region, self.table, self.row, self.tags = (LruDictionary(LARGE) for _ in range(4))
        self.family, self.qualifier = LruDictionary(SMALL), LruDictionary(SMALL)
