# SPDX-License-Identifier: MIT
"""What the report says of the recorder's own cost."""

from heapwright.explain import recorder


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
