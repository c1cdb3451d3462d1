"""One operator of an execution trace, whatever its schema says: 1.0 in fields, 1.1 in `attrs`.

What comes out is compact: identity, nesting, thread, the tensors it reads and writes, and what it
says of a collective. Everything else of a node, which is most of it, is dropped as it comes.
"""

from typing import Any, NamedTuple, TypeAlias, cast

import msgspec

_MOST = 2**62
_DEEPEST = 4  # lists of lists of tensors


class Tensor(NamedTuple):
    """A tensor as it was used: identity, storage, and the elements of the storage it covers."""

    identity: int
    storage: int
    first: int
    elements: int
    each_bytes: int


class Operator(NamedTuple):
    """One operator; numbers are -1 where unknown."""

    identity: int
    name: str
    parent: int
    record: int
    thread: int
    scope: int
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]
    values: tuple[Any, ...]  # the inputs that are no tensors, of a collective or a group
    told: dict[str, Any]  # the attributes that name a collective


Ids: TypeAlias = int | list[int] | None


class _Values(msgspec.Struct):
    values: list[Any] | None = None


class _Attribute(msgspec.Struct):
    name: str
    value: Any = None


class Node(msgspec.Struct):
    """A node of the file."""

    id: int
    name: str
    parent: int | None = None
    ctrl_deps: Ids = None
    rf_id: int | None = None
    scope: int | None = None
    tid: int | None = None
    inputs: list[Any] | _Values | None = None
    outputs: list[Any] | _Values | None = None
    attrs: list[_Attribute] | None = None


COMMS = "record_param_comms"
GROUPS = "## process_group:init ##"
_TOLD = frozenset({"collective_name", "pg_name", "pg_desc", "pg_size"})


def operator(node: Node) -> Operator:
    """The node, without what is not used."""
    attributes = {one.name: one.value for one in node.attrs or ()}
    inputs, outputs = _values(node.inputs), _values(node.outputs)
    keeps = node.name in (COMMS, GROUPS)
    return Operator(
        identity=node.id,
        name=node.name,
        parent=_parent(node),
        record=_number(attributes.get("rf_id", node.rf_id)),
        thread=_number(attributes.get("tid", node.tid)),
        scope=_number(attributes.get("scope", node.scope)),
        reads=tuple(_tensors(inputs)),
        writes=tuple(_tensors(outputs)),
        values=tuple(value for value in inputs if not _tensors([value])) if keeps else (),
        told={name: attributes[name] for name in _TOLD & attributes.keys()},
    )


def _parent(node: Node) -> int:
    """The operator around it; schema 1.1 calls that a control dependency."""
    around = node.parent if node.parent is not None else node.ctrl_deps
    if isinstance(around, list):
        return around[0] if around else -1
    return -1 if around is None else around


def _values(given: list[Any] | _Values | None) -> list[Any]:
    if isinstance(given, _Values):
        return given.values or []
    return given or []


def _number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST:
        return value
    return -1


def _tensors(values: list[Any], depth: int = 0) -> list[Tensor]:
    """All tensors among the values and in their lists; a tensor is itself a list."""
    found: list[Tensor] = []
    for value in values:
        if not isinstance(value, list) or depth > _DEEPEST:
            continue
        inner = cast(list[Any], value)
        # [tensor, storage, offset, elements, bytes of one, device]
        if len(inner) == 6 and isinstance(inner[5], str):
            tensor = Tensor(*map(_number, inner[:5]))
            if tensor.storage > 0 and min(tensor) >= 0:
                found.append(tensor)
        elif inner and isinstance(inner[0], list):
            found += _tensors(inner, depth + 1)
    return found
