"""How many values the footer of a Parquet file promises, read without the library's own accessor.

pyarrow ends the whole process when it is asked about a column whose statistics are corrupt, so
the footer, a Thrift struct in compact form, is walked here; whatever does not parse is ValueError.
"""

from typing import TypeAlias

Thing: TypeAlias = "int | dict[int, Thing] | list[Thing] | None"

_DEEPEST = 16  # structs inside one another; a real footer has 6
_ROW_GROUPS, _COLUMNS, _META_DATA, _NUM_VALUES = 4, 1, 3, 5  # ids in parquet.thrift


def values_promised(footer: bytes) -> int:
    """The number of values in all columns of all row groups."""
    try:
        whole = _Walk(footer).thing(_STRUCT, 0)
    except IndexError as error:
        raise ValueError("the footer breaks off") from error
    total = 0
    for group in _list_at(whole, _ROW_GROUPS):
        for column in _list_at(group, _COLUMNS):
            count = _at(_at(column, _META_DATA), _NUM_VALUES)
            if not isinstance(count, int) or count < 0:
                raise ValueError("a column of the footer has no number of values")
            total += count
    return total


def _at(thing: Thing, field: int) -> Thing:
    return thing.get(field) if isinstance(thing, dict) else None


def _list_at(thing: Thing, field: int) -> list[Thing]:
    found = _at(thing, field)
    return found if isinstance(found, list) else []


_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = (
    0, 1, 2, 3, 7, 8, 9, 10, 11, 12, 13,
)  # fmt: skip
_WHOLE = (4, 5, 6)  # 16, 32 and 64 bits


class _Walk:
    """A position in the footer; IndexError past its end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def thing(self, kind: int, depth: int) -> Thing:
        """The value of a kind that stands here; texts and fractions are only passed over."""
        if kind in _WHOLE:
            raw = self._varint()
            return (raw >> 1) ^ -(raw & 1)
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind in (_DOUBLE, _BINARY, _UUID):
            size = {_DOUBLE: 8, _UUID: 16}.get(kind) or self._varint()
            self.at += size
            return None
        if depth == _DEEPEST:
            raise ValueError("the footer is nested too deep")
        if kind == _STRUCT:
            return self._struct(depth)
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return [self.thing(head & 15, depth + 1) for _ in range(count)]
        if kind == _MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            for _ in range(count):
                self.thing(kinds >> 4, depth + 1)
                self.thing(kinds & 15, depth + 1)
            return None
        raise ValueError(f"the footer holds a value of kind {kind}")

    def _struct(self, depth: int) -> dict[int, Thing]:
        fields: dict[int, Thing] = {}
        field = 0
        while (head := self._byte()) & 15 != _STOP:
            step = head >> 4
            if step:
                field += step
            else:
                raw = self._varint()
                field = (raw >> 1) ^ -(raw & 1)
            kind = head & 15
            # a flag is its own value and takes no further byte
            flag = kind in (_TRUE, _FALSE)
            fields[field] = kind if flag else self.thing(kind, depth + 1)
        return fields

    def _byte(self) -> int:
        byte = self.data[self.at]
        self.at += 1
        return byte

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a number of the footer is too long")
