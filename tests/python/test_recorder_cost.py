# SPDX-License-Identifier: MIT
"""What the report says of the recorder's own cost."""

from heapwright.explain import recorder
from heapwright.model import waiting
from heapwright.model.records import Thread


def waited(total_ns: int, threads: int, longest_ns: int) -> str:
    cost = {
        "calls_ns": 0,
        "waited_ns": total_ns,
        "waiting_threads": threads,
        "waited_longest_thread_ns": longest_ns,
        "peak_bytes": 1 << 20,
        "file_bytes": 0,
        "bytes_per_event": 0.0,
        "self_cost_allocation_ns": 0,
        "self_cost_release_ns": 0,
        "symbol_problems": [],
    }
    return recorder.waited(cost)


def test_a_wait_longer_than_the_run_is_said_to_be_a_sum_over_threads() -> None:
    assert (
        waited(180_000_000_000, 500, 400_000_000)
        == "3 min 0 s summed over 500 threads, at most 400 ms in one"
    )


def test_one_thread_needs_no_sum() -> None:
    assert waited(2_000_000_000, 1, 2_000_000_000) == "2.00 s"


def thread(first_ns: int, exit_ns: int, waited_ns: int) -> Thread:
    return Thread(0, 1, "worker", first_ns, exit_ns, 10, 0, waited_ns)


def test_threads_that_waited_much_ran_beside_others_as_they_do_not_alone() -> None:
    said = waiting.note([thread(0, 0, 0), thread(100, 1100, 300), thread(200, 0, 120)], 1200)
    assert said.startswith("2 threads waited 21 % of their time for the recorder")
    assert waiting.note([thread(0, 1000, 90), thread(0, 1000, 90)], 1000) == ""
    assert waiting.note([thread(0, 0, 0), thread(0, 0, 900)], 1000) == "", "one alone is as it was"
    assert "100 %" in waiting.note([thread(0, 1000, 5000), thread(0, 1000, 5000)], 1000)
