# SPDX-License-Identifier: MIT
"""What is printed to start a program again: the name it was called by decides what many programs do."""

from __future__ import annotations

from pathlib import Path

import heapwright
import pytest
from written_traces import MadeTrace


def started_as(tmp_path: Path, program: str, command: str) -> str:
    made = MadeTrace().meta("program", program).meta("command", command)
    return heapwright.open(made.write(tmp_path / "it.heapwright")).metadata.started_as


@pytest.mark.parametrize(
    ("program", "command", "again"),
    [
        ("/usr/bin/redis-check-rdb", "/usr/bin/redis-server", "/usr/bin/redis-server"),
        ("/usr/bin/redis-check-rdb", "/usr/bin/redis-server --port 7", "/usr/bin/redis-server"),
        ("/usr/bin/perl", "/usr/bin/exiftool", "/usr/bin/exiftool"),
        ("/opt/server", "./server", "/opt/server"),
        ("/opt/server", "/bin/server --port 7", "/opt/server"),
        ("/opt/the shop/server", "/opt/the shop/server", "/opt/the shop/server"),
        ("/opt/server", "/opt/the shop/start", "/opt/server"),
        ("/opt/server", "", "/opt/server"),
    ],
)
def test_a_link_and_a_script_are_started_by_their_own_name(
    tmp_path: Path, program: str, command: str, again: str
) -> None:
    assert started_as(tmp_path, program, command) == again
