"""When a message can have left: what its send's span says, and who issued it."""

from paceline.model import Kind, TraceBuilder
from paceline.stitch import match
from paceline.stitch.align_ties import orders


def test_a_send_begins_with_the_call_that_was_still_running() -> None:
    sender, receiver = TraceBuilder(), TraceBuilder()
    done = sender.add("earlier", Kind.COMPUTE, "main", 0, 10)
    call = sender.add("isend", Kind.COMPUTE, "main", 100, 900)
    away = [(1, 0)]  # an event of another worker, which issues nothing here
    sender.add("send", Kind.SEND, "gloo", 800, 400, peer=1, after=[(0, done), (0, call), *away])
    sender.add("send", Kind.SEND, "gloo", 5000, 400, peer=1, after=[(0, call)])
    receiver.add("recv", Kind.RECV, "gloo", 50, 600, peer=0)
    receiver.add("recv", Kind.RECV, "gloo", 4000, 2000, peer=0)
    traces = [sender.trace(0, clock="unix"), receiver.trace(1, clock="unix")]
    found = orders(traces, match.events(traces))
    assert found.before.tolist() == [0, 0]
    assert found.before_ns.tolist() == [100, 5000]
    assert found.after_ns.tolist() == [650, 6000]
    assert found.sent_ns.tolist() == [1200, 5400]
