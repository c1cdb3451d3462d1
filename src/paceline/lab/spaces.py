"""The network namespaces of a lab, held as descriptors by this process alone.

They belong to root, or to a user namespace of this user. When this process ends in whatever way,
its descriptors close and the kernel removes the namespaces with all interfaces in them.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Sequence

from paceline.lab.inside import started
from paceline.model import RunError

PATIENCE_S = 20
PACKAGES = {"ip": "iproute2", "tc": "iproute2", "nft": "nftables", "nsenter": "util-linux"}
ELSEWHERE = "/usr/sbin:/sbin:/usr/bin:/bin"  # often not on the PATH of users


def tool(name: str) -> str:
    """The path of a tool of the system."""
    found = shutil.which(name) or shutil.which(name, path=ELSEWHERE)
    if found is None:
        raise RunError(
            f"The lab needs the command {name}, which is not installed.",
            cure=f"apt install {PACKAGES[name]} (Debian), or use --mode loopback, without links.",
        )
    return found


class Spaces:
    """As many network namespaces as asked for, and the user namespace they belong to, if any."""

    def __init__(self, count: int, kind: str) -> None:
        self.user: int | None = None
        self.nets: list[int] = []
        ours, theirs = socket.socketpair()
        words = started("spaces", str(theirs.fileno()), str(count), kind)
        with ours, theirs:
            ours.settimeout(PATIENCE_S)
            with subprocess.Popen(
                words,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            ) as maker:
                theirs.close()
                try:
                    self._receive(ours, count, kind)
                except (OSError, EOFError) as error:
                    self.close()
                    raise _refused(kind, _last_words(maker) or str(error)) from error

    def _receive(self, ours: socket.socket, count: int, kind: str) -> None:
        fds: list[int] = []
        self.nets = fds  # closed on failure as far as they came
        while len(fds) < count + (kind == "user"):
            data, received, _, _ = socket.recv_fds(ours, 1, 1)
            if not data:
                raise EOFError("the process that makes namespaces ended")
            fds += received
        if kind == "user":
            self.user = fds.pop(0)

    @property
    def fds(self) -> list[int]:
        """All descriptors, which a process that enters must inherit."""
        return self.nets if self.user is None else [self.user, *self.nets]

    def told(self, place: int, command: Sequence[str], script: str = "") -> str:
        """What a tool prints that is run in a namespace with a script as its input."""
        words = [tool("nsenter"), f"--net=/proc/self/fd/{self.nets[place]}"]
        if self.user is not None:
            words += [f"--user=/proc/self/fd/{self.user}", "--preserve-credentials"]
        words += ["--", tool(command[0]), *command[1:]]
        try:
            done = subprocess.run(
                words,
                pass_fds=self.fds,
                input=script,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise RunError(
                f"{command[0]} did not answer within {PATIENCE_S} s.",
                cure="Is the machine overloaded? Try again.",
            ) from error
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise RunError(
                f"{command[0]} refused: {said[0]}",
                expected="The lab builds links with it.",
                cure="paceline doctor says what this kernel lacks.",
            )
        return done.stdout

    def close(self) -> None:
        """Lets go of the namespaces."""
        for fd in self.fds:
            os.close(fd)
        self.user, self.nets = None, []


def _last_words(maker: "subprocess.Popen[str]") -> str:
    try:
        return maker.communicate(timeout=1)[1].strip()
    except subprocess.TimeoutExpired:
        maker.kill()
        return ""


def _refused(kind: str, why: str) -> RunError:
    whose = "as root" if kind == "root" else "in a user namespace"
    return RunError(
        f"No network namespaces can be made {whose}: {why}.",
        cure="Use another --mode, or let your administrator allow it; paceline doctor says more.",
    )
