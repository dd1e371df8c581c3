# SPDX-License-Identifier: MIT
"""A program that gets nearly all of its memory through one function of its own: sites are who called that."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Record, command

pytestmark = pytest.mark.full


def write_video(path: Path, width: int = 320, height: int = 192, frames: int = 24) -> None:
    """Moving stripes, uncompressed (YUV4MPEG2)."""
    with path.open("wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n" % (width, height))
        for time in range(frames):
            rows = (bytes((x * 3 + y * 2 + time * 5) & 255 for x in range(width)) for y in range(height))
            file.write(b"FRAME\n" + b"".join(rows) + bytes([128 + time]) * (width * height // 2))


def explained(path: Path, *options: str) -> dict[str, Any]:
    line = [command, "explain", path, "--json", "--top", "100", *options]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=120)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.skipif(shutil.which("x264") is None, reason="x264 is not installed")
def test_x264_encodes_and_its_funnel_is_seen_through(record: Record, tmp_path: Path) -> None:
    """x264_malloc, of which Debian's library has no name."""
    video = tmp_path / "stripes.y4m"
    write_video(video)
    encode = ["--quiet", "--no-progress", "--threads", "2", "-o"]
    alone = [shutil.which("x264") or "", *encode, tmp_path / "alone.264", video]
    subprocess.run(alone, check=True, capture_output=True)
    recording = record(Path(alone[0]), *encode, tmp_path / "recorded.264", video)
    assert recording.status == 0, recording.errors
    assert (tmp_path / "recorded.264").read_bytes() == (tmp_path / "alone.264").read_bytes()
    trace = recording.trace()
    assert trace.problems() == []

    stacks = explained(trace.path, "--full-stacks")["questions"]["peak"]["sites"]
    whole = sum(stack["live_bytes"] for stack in stacks)
    inner: dict[str, int] = {}
    callers: dict[str, set[str]] = {}
    for stack in stacks:
        first, second = (frame["function"] for frame in stack["frames"][:2])
        inner[first] = inner.get(first, 0) + stack["live_bytes"]
        callers.setdefault(first, set()).add(second)
    funnel = max(inner, key=inner.__getitem__)
    assert inner[funnel] > 0.8 * whole and len(callers[funnel]) >= 5, "nearly all through one frame"

    sites = explained(trace.path)["questions"]["peak"]["sites"]
    functions = {site["function"] for site in sites}
    assert funnel not in functions
    assert callers[funnel] & functions and len(callers[funnel] & functions) >= 4
