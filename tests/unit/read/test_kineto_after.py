"""What waits for what."""

from pathlib import Path

import pytest
from made_kineto import ENGINE, MAIN, OTHER, STREAM, Made

from paceline import read


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def sync(made: Made, name: str, start: float, id: int, at: tuple[int, int], **args: int) -> Made:
    return made.span("cuda_sync", name, start, 0, at, correlation=id, **args)


def test_a_kernel_comes_after_its_launch_wherever_that_stands(made: Made):
    made.kernel("k", 10, 5, 31).call("cudaLaunchKernel", 0, 5, 31)
    assert made.after() == {"k": ["cudaLaunchKernel"]}


def test_one_launch_of_a_graph_launches_many(made: Made):
    made.call("cudaGraphLaunch", 0, 5, 31).kernel("k", 10, 5, 31).kernel("l", 15, 5, 31)
    assert made.after() == {"k": ["cudaGraphLaunch"], "l": ["cudaGraphLaunch"]}


def test_without_runtime_calls_the_operator_stands_for_them(made: Made):
    made.op("aten::mm", 0, 5, External_id=4).kernel("k", 10, 5, 31, External_id=4)
    made.kernel("l", 20, 5, 32, External_id=5)
    assert made.after() == {"k": ["aten::mm"]}


def test_a_device_synchronization_waits_for_all_that_was_launched(made: Made):
    made.call("launch a", 0, 1, 1).kernel("a", 5, 50, 1).call("launch b", 2, 1, 2)
    made.kernel("b", 8, 20, 2, OTHER).call("cudaDeviceSynchronize", 10, 50, 9)
    made.call("launch c", 70, 1, 3).kernel("c", 75, 5, 3)
    assert made.after()["cudaDeviceSynchronize"] == ["a", "b"]


def test_it_waits_for_no_other_device(made: Made):
    made.call("launch a", 0, 1, 1).kernel("a", 5, 5, 1).call("launch b", 20, 1, 2)
    made.kernel("b", 22, 20, 2, (1, 7)).call("cudaDeviceSynchronize", 30, 50, 9)
    assert made.after()["cudaDeviceSynchronize"] == ["b"]


def test_a_stream_synchronization_waits_for_what_its_thread_launched_last(made: Made):
    made.call("launch a", 0, 1, 1).kernel("a", 5, 50, 1).call("launch b", 2, 1, 2, ENGINE)
    made.kernel("b", 8, 20, 2, OTHER).call("cudaStreamSynchronize", 10, 50, 9)
    assert made.after()["cudaStreamSynchronize"] == ["a"]
    sync(made, "Stream Sync", 10, 9, OTHER)  # told which stream: no need to guess
    assert made.after()["cudaStreamSynchronize"] == ["b"]


def test_a_wait_that_ends_before_what_it_should_wait_for_is_none(made: Made):
    made.call("launch", 0, 1, 1).kernel("k", 5, 500, 1).call("cudaDeviceSynchronize", 10, 50, 9)
    assert "cudaDeviceSynchronize" not in made.after()


def test_an_event_synchronization_waits_for_what_was_recorded(made: Made):
    made.call("launch a", 0, 1, 1).kernel("a", 5, 10, 1).call("cudaEventRecord", 2, 1, 2)
    made.call("launch b", 4, 1, 3).kernel("b", 15, 10, 3).call("cudaEventSynchronize", 10, 50, 9)
    assert "cudaEventSynchronize" not in made.after()  # nobody told which event
    sync(made, "Event Sync", 10, 9, (0, -1), wait_on_stream=7, wait_on_cuda_event_record_corr_id=2)
    assert made.after()["cudaEventSynchronize"] == ["a"]


@pytest.mark.parametrize(
    "told", [{"wait_on_stream": 99}, {"wait_on_cuda_event_record_corr_id": 77}, {}]
)
def test_an_event_that_is_not_told_whole_is_nothing_to_wait_for(made: Made, told: dict[str, int]):
    made.call("launch a", 0, 1, 1).kernel("a", 5, 10, 1).call("cudaEventSynchronize", 10, 50, 9)
    sync(made, "Event Sync", 10, 9, (0, -1), **told)
    assert "cudaEventSynchronize" not in made.after()


def test_a_stream_waits_for_an_event_of_another(made: Made):
    made.call("launch a", 0, 1, 1).kernel("a", 5, 10, 1).call("cudaEventRecord", 2, 1, 2)
    made.call("launch later", 3, 1, 8).kernel("later", 15, 90, 8)
    made.call("cudaStreamWaitEvent", 4, 1, 3)
    sync(
        made,
        "Stream Wait Event",
        4,
        3,
        OTHER,
        wait_on_stream=7,
        wait_on_cuda_event_record_corr_id=2,
    )
    made.call("launch b", 6, 1, 4).kernel("b", 20, 10, 4, OTHER).kernel("c", 30, 10, 4, OTHER)
    assert made.after()["b"] == ["a", "launch b"]
    assert made.after()["c"] == ["launch b"]


def test_a_wait_between_streams_without_its_call_counts_from_its_own_time(made: Made):
    made.call("launch a", 0, 1, 1).kernel("a", 5, 10, 1).call("cudaEventRecord", 2, 1, 2)
    sync(
        made,
        "Stream Wait Event",
        4,
        77,
        OTHER,
        wait_on_stream=7,
        wait_on_cuda_event_record_corr_id=2,
    )
    made.call("launch b", 6, 1, 4).kernel("b", 20, 10, 4, OTHER)
    assert made.after()["b"] == ["a", "launch b"]


def test_a_wait_between_streams_that_did_not_happen(made: Made):
    made.call("launch a", 0, 1, 1).kernel("a", 5, 100, 1).call("cudaEventRecord", 2, 1, 2)
    sync(
        made,
        "Stream Wait Event",
        4,
        77,
        OTHER,
        wait_on_stream=7,
        wait_on_cuda_event_record_corr_id=2,
    )
    sync(
        made,
        "Stream Wait Event",
        1,
        78,
        OTHER,
        wait_on_stream=7,
        wait_on_cuda_event_record_corr_id=2,
    )
    made.call("launch b", 6, 1, 4).kernel("b", 20, 10, 4, OTHER)
    assert made.after()["b"] == ["launch b"]


def test_a_copy_that_blocks_ends_before_its_call(made: Made):
    made.call("earlier", 0, 5, 8).call("cudaMemcpy", 10, 50, 1)
    made.span("gpu_memcpy", "copy", 20, 30, STREAM, correlation=1, bytes=4)
    assert made.after() == {"cudaMemcpy": ["copy"], "copy": ["earlier"]}


def test_a_copy_that_outlasts_its_call_did_not_block(made: Made):
    made.call("cudaMemcpy", 10, 50, 1)
    made.span("gpu_memcpy", "copy", 20, 300, STREAM, correlation=1, bytes=4)
    assert made.after() == {"copy": ["cudaMemcpy"]}


def test_a_copy_that_blocks_may_be_the_first_thing(made: Made):
    made.call("cudaMemcpy", 10, 50, 1)
    made.span("gpu_memcpy", "copy", 20, 30, STREAM, correlation=1, bytes=4)
    assert made.after() == {"cudaMemcpy": ["copy"]}


def test_backward_comes_after_forward(made: Made):
    made.op("forward", 0, 5).arrow("s", 1, 0).op("backward", 20, 5, ENGINE).arrow(
        "f", 1, 20, ENGINE
    )
    made.arrow("s", 2, 0).arrow("f", 3, 20)  # half arrows
    assert made.after() == {"backward": ["forward"]}


def test_an_arrow_back_in_time_is_none(made: Made):
    made.op("forward", 10, 50).arrow("s", 1, 10).op("backward", 20, 5, ENGINE).arrow(
        "f", 1, 20, ENGINE
    )
    made.arrow("s", 2, 0, (5, 5)).arrow("f", 2, 1, (5, 5))
    assert made.after() == {}


def test_without_arrows_backward_comes_after_the_forward_of_its_number(made: Made):
    passes = "autograd::engine::evaluate_function: "
    made.op("earlier", 0, 5, Sequence_number=7).op("forward", 8, 5, Sequence_number=7)
    made.op("another", 14, 4, Sequence_number=8)
    made.op(passes + "A", 20, 5, ENGINE, Sequence_number=7)
    made.op("inside", 21, 2, ENGINE, Sequence_number=7).op(passes + "B", 30, 5, ENGINE)
    made.op(passes + "C", 16, 1, ENGINE, Sequence_number=8)  # the number of something later
    assert made.after() == {passes + "A": ["forward"]}


def test_gloo_by_record_and_by_order(made: Made):
    gloo = (1, 9)
    made.op("c10d::allreduce_", 0, 5, Record_function_id=10)
    made.op("c10d::allreduce_", 10, 5, Record_function_id=20)
    made.mark("gloo:all_reduce", 30, 5, gloo, Record_function_id=21)
    assert made.events()[2].after == ((0, 1),)
    for entry in made.entries:
        entry["args"] = {}
    assert made.events()[2].after == ((0, 0),)


def test_gloo_spans_from_before_the_window_have_no_operator(made: Made):
    gloo = (1, 9)
    made.mark("gloo:all_reduce", 0, 5, gloo).op("c10d::_reduce_scatter_base_", 10, 5)
    made.mark("gloo:all_reduce", 20, 5, gloo).mark("gloo:barrier", 40, 5, gloo)
    assert [event.after for event in made.events()] == [(), (), ((0, 1),), ()]


def test_of_a_file_that_breaks_off_gloo_spans_are_not_counted_off(made: Made):
    """The spans of one thread may be missing; the k-th that is left is not the k-th operator's."""
    gloo = (1, 9)
    made.op("c10d::allreduce_", 0, 5).op("c10d::allreduce_", 10, 5)
    made.mark("gloo:all_reduce", 30, 5, gloo).op("lost", 50, 5)
    assert made.events()[2].after == ((0, 0),)
    text = made.write().read_text()
    made.path.write_text(text[: text.index('"lost"')])
    (trace,) = read.traces(made.path)
    assert [note.code for note in trace.notes] == ["truncated"]
    assert [event.after for event in trace] == [(), (), ()]


def test_edges_never_make_a_circle_even_if_streams_run_out_of_order(made: Made):
    """Launched later, yet first on the stream: what waits in between must not wait for it."""
    made.call("launch a", 0, 1, 1, MAIN).call("cudaDeviceSynchronize", 10, 40, 9, MAIN)
    made.call("launch b", 45, 1, 2, MAIN)
    made.kernel("b", 5, 5, 2).kernel("a", 20, 5, 1)
    assert "cudaDeviceSynchronize" not in made.after()
