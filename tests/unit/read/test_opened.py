"""One file that is not to be trusted: blocks, gzip, caps, digest."""

import gzip
import hashlib
import os
import random
from pathlib import Path

import pytest

from paceline.model import InputError
from paceline.read.opened import HEAD, Caps, Opened

CONTENT = random.Random(5).randbytes(300_000)


def opened(folder: Path, content: bytes, **caps: int) -> Opened:
    path = folder / "x.json"
    path.write_bytes(content)
    return Opened(path, Caps(**caps))


@pytest.mark.parametrize("size", [1, 999, HEAD, 1 << 20])
def test_the_content_comes_back_in_blocks(tmp_path: Path, size: int):
    for stored in (CONTENT[:5000], gzip.compress(CONTENT[:5000])):
        file = opened(tmp_path, stored)
        blocks = list(file.blocks(size))
        assert b"".join(blocks) == CONTENT[:5000]
        assert max(map(len, blocks)) <= size
        assert file.head == CONTENT[:5000]


def test_the_head_is_64_kib(tmp_path: Path):
    assert opened(tmp_path, CONTENT).head == CONTENT[:HEAD]
    assert opened(tmp_path, gzip.compress(CONTENT)).head[:HEAD] == CONTENT[:HEAD]


def test_gzip_is_known_by_content(tmp_path: Path):
    path = tmp_path / "x.gz"
    path.write_bytes(b"plain")
    assert Opened(path).head == b"plain"


@pytest.mark.parametrize("padding", [b"", b"\0\0\0"])
def test_members_follow_each_other(tmp_path: Path, padding: bytes):
    stored = gzip.compress(b"one ") + padding + gzip.compress(b"two") + padding
    assert opened(tmp_path, stored).whole(100) == b"one two"


@pytest.mark.parametrize("size", [7, 64, 100, 1000])
def test_a_block_that_is_just_full_is_not_the_end(tmp_path: Path, size: int):
    content = b"a" * 1000
    file = opened(tmp_path, gzip.compress(content), ratio=10_000)
    assert b"".join(file.blocks(size)) == content


def test_a_stream_that_breaks_off(tmp_path: Path):
    stored = gzip.compress(CONTENT)[:-100]
    file = opened(tmp_path, stored)
    with pytest.raises(InputError, match="breaks off"):
        list(file.blocks())
    kept = b"".join(file.blocks(partial=True))
    assert len(kept) > 250_000
    assert CONTENT.startswith(kept)


def test_wrong_data_is_an_error_even_where_a_break_is_none(tmp_path: Path):
    stored = bytearray(gzip.compress(CONTENT))
    stored[-6] ^= 1  # the check sum
    file = opened(tmp_path, bytes(stored))
    for partial in (False, True):
        with pytest.raises(InputError, match="broken gzip data"):
            list(file.blocks(partial=partial))
    with pytest.raises(InputError, match="broken gzip data"):
        opened(tmp_path, gzip.compress(b"x") + b"more").whole(10)


def test_a_bomb_by_ratio(tmp_path: Path):
    stored = gzip.compress(b"a" * 10_000_000)
    with pytest.raises(InputError, match="taken for a bomb") as caught:
        list(opened(tmp_path, stored, ratio=200).blocks())
    assert "--max-ratio" in str(caught.value)
    assert len(b"".join(opened(tmp_path, stored, ratio=2000).blocks())) == 10_000_000


def test_a_bomb_by_size(tmp_path: Path):
    with pytest.raises(InputError, match="taken for a bomb") as caught:
        list(opened(tmp_path, CONTENT, largest_bytes=299_999).blocks())
    assert "--max-bytes" in str(caught.value)
    with pytest.raises(InputError, match="larger"):
        opened(tmp_path, CONTENT).whole(1000)


def test_what_is_no_file(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(InputError, match="is not a regular file"):
            Opened(place)
    with pytest.raises(InputError, match="No such file"):
        Opened(tmp_path / "missing")


@pytest.mark.parametrize("stored", [CONTENT, gzip.compress(CONTENT)])
def test_the_digest_is_that_of_the_file_as_stored(tmp_path: Path, stored: bytes):
    expected = "sha256:" + hashlib.sha256(stored).hexdigest()
    file = opened(tmp_path, stored)
    source = file.source("tool")
    assert (source.path, source.digest, source.tool) == (str(file.path), expected, "tool")
    list(file.blocks())
    file.path.unlink()  # worked out on the way: the file is not read again
    assert file.source("tool").digest == expected
