import gzip
import json
import re

from paceline.loop import demo_run


def test_the_recording_is_small_and_names_no_machine() -> None:
    files = sorted(demo_run().glob("*.json.gz"))
    assert [path.name for path in files] == [f"rank{rank}.json.gz" for rank in range(4)]
    assert sum(path.stat().st_size for path in files) <= 300_000
    for path in files:
        text = gzip.decompress(path.read_bytes()).decode()
        assert re.findall(r'"/[\w.-]+/|\.py\b', text) == []
        content = json.loads(text)
        assert content["host_name"] == "demo-machine"
        assert "traceName" not in content


def test_worker_2_is_the_slow_one() -> None:
    """In each backward it sleeps 60 ms, so it spends the least time in its collectives."""
    waited = {}
    for path in sorted(demo_run().glob("*.json.gz")):
        content = json.loads(gzip.decompress(path.read_bytes()))
        spans = [e for e in content["traceEvents"] if e["name"] == "gloo:all_reduce"]
        waited[content["distributedInfo"]["rank"]] = sum(event["dur"] for event in spans)
    assert min(waited, key=lambda rank: waited[rank]) == 2
