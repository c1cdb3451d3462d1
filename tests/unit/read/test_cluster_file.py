"""cluster.yaml: what the golden files do not show."""

import gzip
import os
import time
from pathlib import Path

import pytest

from paceline.model import Cluster, InputError, Machine, save
from paceline.read import cluster

SAVED = Cluster(machines=(Machine(name="m0", slots=2),))


@pytest.mark.parametrize("name", ["c.json", "c.json.gz", "c.yaml"])
def test_what_was_saved_is_read_again(tmp_path: Path, name: str):
    save(SAVED, tmp_path / name)
    assert cluster(tmp_path / name) == SAVED


def test_a_saved_cluster_may_be_packed_by_hand(tmp_path: Path):
    save(SAVED, tmp_path / "c.json")
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress((tmp_path / "c.json").read_bytes()))
    assert cluster(packed) == SAVED


def test_yaml_may_be_packed(tmp_path: Path):
    path = tmp_path / "c.yaml.gz"
    path.write_bytes(gzip.compress(b"machines: [{name: m0, slots: 2}]"))
    assert cluster(path) == SAVED


def test_a_saved_cluster_without_anything_is_refused(tmp_path: Path):
    save(Cluster(), tmp_path / "c.json")
    with pytest.raises(InputError, match="neither machines nor offers"):
        cluster(tmp_path / "c.json")


def test_a_path_may_be_text(tmp_path: Path):
    save(SAVED, tmp_path / "c.json")
    assert cluster(str(tmp_path / "c.json")) == SAVED


def test_only_files_are_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")  # reading it would wait for ever
    for place in (".", "pipe"):
        with pytest.raises(InputError, match="is not a regular file"):
            cluster(tmp_path / place)
    with pytest.raises(InputError, match="cannot be read"):
        cluster(tmp_path / "missing.yaml")


def test_a_link_without_machine_is_between_switches(tmp_path: Path):
    path = tmp_path / "c.yaml"
    path.write_text("machines: [{name: m0}]\nlinks: [{a: s0, b: s1}, {a: s1, b: m0}]\n")
    assert [(link.a, link.b) for link in cluster(path).links] == [("s0", "s1"), ("s1", "m0")]


def test_histories_are_kept_as_written_and_not_opened(tmp_path: Path):
    path = tmp_path / "c.yaml"
    path.write_text("offers: [{name: o, kind: k, usd_per_hour: 1, history: ../no/such.json}]")
    assert cluster(path).offers[0].history == "../no/such.json"


def test_large_files_are_read_in_seconds(tmp_path: Path):
    count = 5000
    rows = "".join(f"  - {{name: m{i}, kind: a100, zone: rack{i // 40}}}\n" for i in range(count))
    links = "".join(f"  - {{a: m{i}, b: leaf{i // 40}, rate: 25Gbit}}\n" for i in range(count))
    (tmp_path / "c.yaml").write_text(f"machines:\n{rows}links:\n{links}")
    start = time.perf_counter()
    read = cluster(tmp_path / "c.yaml")
    assert len(read.machines) == len(read.links) == count
    assert time.perf_counter() - start < 5
