"""What a Kineto file says beside its events: whose it is, on what device, in which groups.

Every field is optional, and one of an unexpected type is as good as absent; only the base of all
times must be right if it is there.
"""

import json
import re
from pathlib import Path
from typing import TypeGuard, cast

from paceline.model import Facts, InputError
from paceline.read.kineto_event import text_of
from paceline.read.kineto_time import LATEST_NS

KEPT = frozenset({"distributedInfo", "deviceProperties", "baseTimeNanoseconds", "host_name"})

# what torch.profiler.tensorboard_trace_handler calls its files: host, process, time
_HANDLER = re.compile(r"(?!rank|worker)([A-Za-z][\w.-]*)_\d+\.\d{10,}\.pt\.trace\.json", re.ASCII)


class Head:
    """The fields of a file beside its events."""

    def __init__(self, path: Path, fields: dict[str, bytes]) -> None:
        self._path = path
        self._fields = fields
        self._job = _object(self._loaded("distributedInfo"))

    def rank(self) -> int:
        """The rank, -1 if the file does not say."""
        rank = self._job.get("rank")
        return rank if _is_count(rank) and rank < 2**31 else -1

    def base_ns(self) -> int | None:
        """What all times count from; None if they count from 1970."""
        base = self._loaded("baseTimeNanoseconds")
        if base is None:
            return None
        if isinstance(base, str) and base.isascii() and base.isdigit() and len(base) < 20:
            base = int(base)
        if not _is_count(base) or base >= LATEST_NS:
            raise InputError(
                f"has {base!r} for baseTimeNanoseconds.",
                where=self._path,
                expected="Nanoseconds from 1970 to 2200 are needed.",
                cure="Record it again.",
            )
        return base

    def groups(self) -> dict[str, tuple[int, ...] | None]:
        """The groups with their members, as far as told."""
        told = self._job.get("pg_config")
        listed = list(_object(told).values()) or told
        found: dict[str, tuple[int, ...] | None] = {}
        for one in cast(list[object], listed if isinstance(listed, list) else []):
            group = _object(one)
            ranks = group.get("ranks")
            members = tuple(cast(list[object], ranks if isinstance(ranks, list) else []))
            usable = bool(members) and all(_is_count(rank) and rank < 2**31 for rank in members)
            if "pg_name" in group:
                found[text_of(group["pg_name"])] = (
                    cast(tuple[int, ...], members) if usable else None
                )
        return found

    def only_group(self) -> str | None:
        """The name of the job's group, if it has no other."""
        groups, count = self.groups(), self._job.get("pg_count")
        return next(iter(groups)) if len(groups) == 1 and count in (None, 1) else None

    def facts(self, device: int | None, peak_bytes: int) -> Facts:
        """What the file says of its worker; `device` is the number of the device it used."""
        size = self._job.get("world_size")
        host = text_of(self._loaded("host_name"))
        named = _HANDLER.match(self._path.name)
        used = self._device(device)
        memory = used.get("totalGlobalMem")
        return Facts(
            machine=host or (named[1] if named else None),
            device=text_of(used.get("name")) or None,
            device_memory_bytes=memory if _is_count(memory) and memory else None,
            backend=text_of(self._job.get("backend")) or None,
            workers=size if _is_count(size) and size else None,
            peak_bytes=peak_bytes if peak_bytes >= 0 else None,
        )

    def _device(self, number: int | None) -> dict[str, object]:
        listed = self._loaded("deviceProperties")
        for one in cast(list[object], listed if isinstance(listed, list) else []):
            device = _object(one)
            if number is not None and device.get("id") == number:
                return device
        return {}

    def _loaded(self, key: str) -> object:
        try:
            return json.loads(self._fields.get(key, b"null").decode("utf-8", "replace"))
        except ValueError:
            return None


def _object(value: object) -> dict[str, object]:
    return cast(dict[str, object], value) if isinstance(value, dict) else {}


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
