# SPDX-License-Identifier: MIT
"""export --fleet: adds the facts of one recording to a folder of many."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from heapwright.cli import judge
from heapwright.cli.explanation import ReportOptions, make_report, read_symbols
from heapwright.cli.output import check_output, write_by_name
from heapwright.fleet.facts import files_of, rows_of, write
from heapwright.model import Filter, SiteOptions, Trace, extras


class Facts(NamedTuple):
    """The files by table, and why calls are missing."""

    files: dict[str, Path]
    lost: tuple[str, ...]


def write_facts(
    trace: Trace, folder: Path, service: str, version: str, force: bool, is_checked: bool
) -> Facts:
    """Creates folders as needed. force: replaces an existing recording. is_checked: a replay tries the
    remedies first; otherwise what an earlier one left beside the recording is taken."""
    extras.pyarrow()
    chosen, sites = Filter(), SiteOptions()
    read_symbols(trace, chosen, sites)
    report = make_report(trace, trace.begin_facts(chosen, sites), chosen, sites, ReportOptions())
    report = judge.checked(trace, report) if is_checked else judge.known(trace, report)
    rows = rows_of(report)
    files = files_of(folder, rows, service or rows["process"][0]["program"], version or "unknown")
    for path in files.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        check_output(path, force, "another --fleet DIR")
    for table, path in files.items():
        write_by_name(path, force, partial(_write, table, rows[table]))
    return Facts(files, trace.lost_calls(report.facts))


def _write(table: str, rows: list[dict[str, object]], path: Path) -> None:
    write(path, table, rows)
