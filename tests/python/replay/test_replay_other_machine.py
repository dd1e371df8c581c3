# SPDX-License-Identifier: MIT
"""What is said of a recording that another machine made."""

from __future__ import annotations

import platform

import pytest
from heapwright.replay import other_machine

OWN = {"architecture": "x86_64", "cpus": "2", "transparent_huge_pages": "madvise", "kernel": "6.1.0"}


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("architecture", "aarch64", "architecture of the recording: aarch64, of the replay: x86_64; "),
        ("cpus", "64", "number of CPUs of the recording: 64, of the replay: 2; "),
        (
            "transparent_huge_pages",
            "always",
            "mode of transparent huge pages of the recording: always, of the replay: madvise; ",
        ),
        ("kernel", "5.10.0", "kernel of the recording: 5.10.0, of the replay: 6.1.0; "),
    ],
)
def test_each_difference_has_one_line(name: str, value: str, line: str) -> None:
    (said,) = other_machine.notes(OWN | {name: value}, OWN)
    assert said.startswith(line)


def test_what_is_the_same_or_not_recorded_is_not_mentioned() -> None:
    assert other_machine.notes(OWN, OWN) == []
    assert other_machine.notes({}, OWN) == []
    assert other_machine.notes({"overcommit_memory": "1"}, OWN) == []


def test_this_machine_is_read() -> None:
    found = other_machine.here()
    assert found.keys() == OWN.keys()
    assert found["kernel"] == platform.release().split("-")[0]
    assert found["architecture"] in ("x86_64", "aarch64")
