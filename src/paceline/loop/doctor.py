"""What is installed, what works on this machine, and what nobody has tried on it.

Asks package metadata and the PATH; nothing heavy is imported and nothing is changed.
"""

import os
import shutil
import sys
from importlib import metadata
from pathlib import Path

from paceline.model import Check, show_bytes

EXTRAS = (
    ("torch", "torch", "recording and running jobs"),
    ("pyarrow", "parquet", "traces in Parquet"),
    ("matplotlib", "html", "pictures of the HTML report"),
    ("jinja2", "html", "the HTML report"),
)
UNTESTED = "Untested on a GPU: recording with examples/train.py. Reading was tested on files."
CORE = ("numpy", "scipy", "numba", "msgspec", "PyYAML", "rich", "click")
TOOLS = (
    ("ip", "iproute2", "the lab's network namespaces and links"),
    ("tc", "iproute2", "the lab's link rates"),
    ("nft", "nftables", "the lab's losses and partitions"),
    ("sysctl", "procps", "the lab's kernel settings: forwarding, socket buffers"),
)


def checks() -> tuple[Check, ...]:
    """Everything that was looked at, what works first needed first."""
    return (
        _python(),
        _machine(),
        *(_package(name, "", "") for name in CORE),
        *(_package(name, extra, use) for name, extra, use in EXTRAS),
        *(_tool(name, package, use) for name, package, use in TOOLS),
        _rights(),
        _gpu(),
    )


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check(
        what="Python",
        works=sys.version_info >= (3, 11),
        found=version,
        cure="" if sys.version_info >= (3, 11) else "paceline needs Python 3.11 or newer.",
    )


def _machine() -> Check:
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0))
    return Check(what="machine", works=True, found=f"{cores} cores, {show_bytes(size)} of memory")


def _package(name: str, extra: str, use: str) -> Check:
    try:
        return Check(what=name, works=True, found=metadata.version(name))
    except metadata.PackageNotFoundError:
        cure = f"pip install 'paceline[{extra}]' for {use}" if extra else "Install paceline again."
        return Check(what=name, works=False, found="not installed", cure=cure)


def _tool(name: str, package: str, use: str) -> Check:
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")  # off users' PATH
    if path is not None:
        return Check(what=name, works=True, found=f"{path}; for {use}")
    cure = f"apt install {package} (Debian), for {use}"
    return Check(what=name, works=False, found="not found", cure=cure)


def _rights() -> Check:
    """Network namespaces are made by root only."""
    if not Path("/proc/self/ns/net").exists():
        cure = "The lab needs Linux with network namespaces."
        return Check(what="namespaces", works=False, found="not in this kernel", cure=cure)
    root = os.geteuid() == 0
    return Check(
        what="namespaces",
        works=True if root else None,
        found="of networks; this user may make them" if root else "of networks, for root",
        cure="" if root else "Run the lab as root; nothing else needs that.",
    )


def _gpu() -> Check:
    tool = next((one for one in ("nvidia-smi", "rocm-smi") if shutil.which(one)), None)
    if tool is None:
        return Check(
            what="GPU",
            works=None,
            found="no driver found",
            cure="Traces of GPU jobs are read here all the same. " + UNTESTED,
        )
    return Check(what="GPU", works=None, found=f"{tool} is there", cure=UNTESTED)
