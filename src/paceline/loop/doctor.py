"""What is installed, what works on this machine, and what nobody has tried on it.

Asks package metadata and the PATH, and tries what the lab needs in namespaces that end at once;
nothing heavy is imported and nothing is changed.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from importlib import metadata

from paceline.model import Check, show_bytes

EXTRAS = (
    ("torch", "torch", "recording and running jobs"),
    ("pyarrow", "parquet", "traces in Parquet"),
    ("matplotlib", "html", "pictures of the HTML report"),
    ("jinja2", "html", "the HTML report"),
)
UNTESTED = "Untested on a GPU: paceline record and paceline.ddp. Reading was tested on files."
CORE = ("numpy", "scipy", "numba", "msgspec", "PyYAML", "rich", "click")
TOOLS = (
    ("ip", "iproute2", "the lab's network namespaces and links"),
    ("tc", "iproute2", "the lab's link rates"),
    ("nft", "nftables", "the lab's losses and partitions"),
    ("nsenter", "util-linux", "the lab's way into its namespaces"),
    ("sysctl", "procps", "the lab's delays without root, which want a large net.core.rmem_max"),
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
        _delays(),
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
    """Network namespaces are made by root, or by anybody in a user namespace."""
    for option, whose in (("--net", "as root"), ("--map-root-user", "in a user namespace")):
        if _tried("unshare", option, "--net", "true"):
            found = f"of networks, {whose}"
            if whose != "as root":
                found += "; without quotas of processor time"
            return Check(what="namespaces", works=True, found=found)
    return Check(
        what="namespaces",
        works=False,
        found="of networks: refused",
        cure="Without them the lab runs on loopback and emulates no links. Run it as root, or let"
        " your administrator allow user namespaces.",
    )


def _delays() -> Check:
    """Netem, tried on an interface that goes with its namespace."""
    words = ("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
    if _tried("unshare", "--net", *words) or _tried("unshare", "--map-root-user", "--net", *words):
        return Check(what="netem", works=True, found="in this kernel; for the lab's latencies")
    cure = "None is needed: the lab then delays frames in a process, from 0.1 ms on."
    return Check(what="netem", works=None, found="not in this kernel, or no rights", cure=cure)


def _tried(*words: str) -> bool:
    """True if the command, which changes nothing that lasts, works."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin:/sbin:/usr/bin:/bin"])
    program = shutil.which(words[0], path=path)
    if program is None:
        return False
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603  words of this file
            [program, *words[1:]],
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
        )
        return done.returncode == 0
    return False


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
