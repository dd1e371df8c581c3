# SPDX-License-Identifier: MIT
"""Runs the README's commands, in order, as they stand."""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import command, project

fence = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def readme_commands() -> list[str]:
    text = (project / "README.md").read_text(encoding="utf-8")
    return [line for block in fence.findall(text) for line in block.splitlines()]


def test_the_first_command_is_on_the_first_page() -> None:
    lines = (project / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    first_screen = "\n".join(lines[:20])
    assert "\nmake run " in first_screen
    assert "\nmake test " in first_screen
    assert "\nmake test-all " in first_screen
    assert "make test-all" in (project / ".ci/run").read_text(encoding="utf-8")


def test_the_cost_is_the_measured_one() -> None:
    """Both figures are those of the first line that bench/render.py writes."""
    said = re.search(
        r"\*\*costs\*\* ([\d.]+ ns) .* ([\d.]+ to [\d.]+) times", (project / "README.md").read_text()
    )
    head = (project / "docs/performance.md").read_text(encoding="utf-8").splitlines()[2]
    assert said
    assert f"adds {said[1]} to" in head and f"take {said[2]} times" in head


@pytest.mark.skipif(not command.exists(), reason="heapwright is not installed into .venv")
def test_every_command_runs(tmp_path: Path) -> None:
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/heapwright").symlink_to(command)
    (tmp_path / "examples").symlink_to(project / "examples")
    (tmp_path / "build").symlink_to(project / "build")
    commands = [line for line in readme_commands() if not line.startswith("make ")]
    assert len(commands) >= 6
    for line in commands:
        result = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        assert result.returncode == 0, f"{line}\n{result.stdout}{result.stderr}"
        assert result.stdout, line
        assert "cannot be preloaded" not in result.stderr, line


@pytest.mark.skipif(not command.exists(), reason="heapwright is not installed into .venv")
def test_explain_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """The shape of the README's output: its headings and labels are those of today."""
    text = (project / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert shown
    labels = re.findall(r"^(?:[a-z][a-z ]+(?=  )|.* \[\w+\]$|What stands out)", shown.group(1), re.MULTILINE)
    headings = [label.strip() for label in labels if not label.lstrip().startswith("•")]
    assert len(headings) >= 6
    line = [command, "record", "--output", tmp_path / "x.heapwright", "--quiet", "--", "sqlite3", ":memory:"]
    subprocess.run(
        [*map(str, line), f".read {project / 'examples/orders.sql'}"], check=True, capture_output=True
    )
    result = subprocess.run(
        [command, "explain", tmp_path / "x.heapwright"], capture_output=True, text=True, check=True
    )
    missing = [heading for heading in headings if heading not in result.stdout]
    assert missing == []
