# SPDX-License-Identifier: MIT
"""heapwright explain --html: what it refuses, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

from written_traces import Said, run_command, small_trace


def said_by(run: Said) -> str:
    return run.err.strip().splitlines()[-1]


def test_bad_requests_are_one_line_and_leave_the_file_alone(tmp_path: Path) -> None:
    trace = small_trace().write(tmp_path / "small.heapwright")
    out = tmp_path / "out.html"
    out.write_text("mine")
    for options, words in (
        ([], "exists"),
        (["--force", "--json", "--html", "-"], "both write to standard output"),
        (["--force", "--question", "pek"], "did you mean peak?"),
    ):
        said = run_command("explain", trace, "--html", out, *options, cwd=tmp_path)
        assert said.code == 2
        assert words in said_by(said)
        assert out.read_text() == "mine"
    said = run_command("explain", trace, "--html", out, "--force", cwd=tmp_path)
    assert said.code == 0 and said_by(said) == f"next: open {out} in a browser"
    assert said.out == run_command("explain", trace, cwd=tmp_path).out  # besides the text
    document = run_command("explain", trace, "--html", out, "--force", "--json", cwd=tmp_path)
    assert json.loads(document.out)["schema"] == "heapwright.explain/1" and not document.err
    alone = run_command("explain", trace, "--html", "-", cwd=tmp_path)
    assert alone.out.startswith("<!doctype html>") and alone.out.rstrip().endswith("</html>")
    assert out.stat().st_mode & 0o777 == 0o600
