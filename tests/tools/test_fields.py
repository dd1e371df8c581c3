# SPDX-License-Identifier: MIT
"""What Python reads of C++ structs is written from their headers, and nothing is left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from heapwright.model import facts

PROJECT = Path(__file__).resolve().parents[2]
HEADERS = [*sorted((PROJECT / "src/analyze/facts").glob("*.hpp")), PROJECT / "src/analyze/facts.hpp"]
WRITTEN = ("visitors.hpp", "rows/__init__.py", "rows/sites.py")


def write(folder: Path, *headers: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        PROJECT / "src/python_module/fields.py",
        folder / "visitors.hpp",
        folder / "rows",
    ]
    return subprocess.run([*command, *headers], capture_output=True, text=True, check=False)


def one_struct(folder: Path, *lines: str) -> Path:
    header = folder / "src/one.hpp"
    header.parent.mkdir()
    body = "".join(f"  {line}\n" for line in lines)
    header.write_text(f"namespace heapwright::analyze {{\n// One.\nstruct One {{\n{body}}};\n}}\n")
    return header


def texts_of(package: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in package.glob("*.py")}


def test_the_kept_rows_are_those_of_the_headers(tmp_path: Path) -> None:
    assert write(tmp_path, *HEADERS).returncode == 0
    kept = Path(facts.__file__).parent
    assert texts_of(tmp_path / "rows") == texts_of(kept)


def test_a_module_without_its_header_goes(tmp_path: Path) -> None:
    write(tmp_path, *HEADERS)
    stale = tmp_path / "rows/of_no_header.py"
    stale.touch()
    write(tmp_path, *HEADERS)
    assert not stale.exists()


def test_a_line_that_is_not_understood_is_an_error(tmp_path: Path) -> None:
    for number, line in enumerate(
        ("int* pointer = nullptr;", "std::uint64_t a = 0, b = 0;", "auto mean() const;")
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        said = write(folder, one_struct(folder, "std::uint64_t calls = 0;", line))
        assert said.returncode == 1
        assert f"One: not understood: {line}" in said.stderr
        assert not (folder / "rows").exists()


def test_arrays_are_fields_where_no_rows_are_made(tmp_path: Path) -> None:
    header = PROJECT / "src/counters/calls_section.hpp"
    assert "Timings: not understood: std::uint64_t bins[time_bin_count];" in write(tmp_path, header).stderr
    command = [
        sys.executable,
        PROJECT / "src/python_module/fields.py",
        tmp_path / "visitors.hpp",
        "-",
        header,
    ]
    subprocess.run(command, check=True)
    assert '  visit("bins", of.bins);\n' in (tmp_path / "visitors.hpp").read_text()


def test_a_signed_field_is_refused_since_columns_are_read_unsigned(tmp_path: Path) -> None:
    said = write(tmp_path, one_struct(tmp_path, "std::int64_t value = 0;"))
    assert said.returncode == 1
    assert "One: columns are unsigned: std::int64_t value = 0;" in said.stderr


def test_a_file_is_left_alone_when_nothing_changed(tmp_path: Path) -> None:
    write(tmp_path, *HEADERS)
    before = [(tmp_path / name).stat().st_mtime_ns for name in WRITTEN]
    write(tmp_path, *HEADERS)
    assert [(tmp_path / name).stat().st_mtime_ns for name in WRITTEN] == before
