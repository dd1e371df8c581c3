# SPDX-License-Identifier: MIT
"""Runs the commands and the Python of the documents as they stand, on the README's trace."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import command, project

pytestmark = pytest.mark.skipif(not command.exists(), reason="heapwright is not installed into .venv")


def blocks(document: str, language: str) -> list[str]:
    text = (project / "docs" / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(arguments: list[str], folder: Path, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{command.parent}:{path}", "HOME": str(folder)}
    return subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the trace that the README records."""
    path = tmp_path_factory.mktemp("documents")
    line = "heapwright record --output sqlite3.heapwright --quiet -- sqlite3 :memory: '.read {}'"
    done = run(["bash", "-c", line.format(project / "examples/orders.sql")], path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize("document", ["info.md", "sql.md", "export.md", "troubleshooting.md"])
def test_every_command_runs(document: str, folder: Path) -> None:
    lines = [line for block in blocks(document, "sh") for line in block.splitlines()]
    assert lines
    for line in lines:
        done = run(["bash", "-c", line], folder)
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_the_python_runs_as_one_program(folder: Path) -> None:
    program = "\n".join(blocks("python.md", "python"))
    done = run([sys.executable, "-c", program], folder)
    assert done.returncode == 0, done.stderr
    assert "allocations of" in done.stdout


def test_sql_names_every_table_and_its_columns(folder: Path) -> None:
    """The columns that docs/sql.md names exist."""
    text = (project / "docs/sql.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| ([\w., …]+) \|$", text, re.MULTILINE)
    assert len(rows) == 9  # with the head
    for table, columns in rows[1:]:
        names = ", ".join(name for name in columns.split(", ") if name != "…")
        done = run(
            ["heapwright", "sql", "sqlite3.heapwright", f"select {names} from {table} limit 1"], folder
        )
        assert done.returncode == 0, f"{table}: {done.stderr}"


@pytest.mark.full
def test_the_tutorial(tmp_path: Path) -> None:
    """Every command, and the sentences that its text builds on."""
    for name in ("examples", "include", ".venv"):
        (tmp_path / name).symlink_to(project / name)
    (tmp_path / "build").mkdir()
    said: dict[str, str] = {}
    for block in blocks("tutorial.md", "sh")[1:]:
        for line in block.splitlines():
            done = run(["bash", "-c", line], tmp_path)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            trace = line.split("build/")[1].split(".heapwright")[0]
            said[trace] = said.get(trace, "") + done.stdout
    assert "a leak, unless in use to the end" in " ".join(said["climbing"].split())
    assert "note_visit" in said["climbing"]
    assert "a leak, unless" not in " ".join(said["bounded"].split())
    assert "operator delete[]" in said["frames"]
    assert "calls            3 allocations" in said["reuse"]
    assert re.search(r"800,000 +80.0 % .* sum_of_fields", said["small"])
    assert "sum_of_fields" not in said["inline"]
