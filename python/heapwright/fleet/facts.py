# SPDX-License-Identifier: MIT
"""The facts of one recording as rows, and their files: TABLE/service=S/version=V/date=D/NAME.parquet."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from heapwright.explain.advice.answer import proposals
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.growing_sites import Growth, Row
from heapwright.explain.report import Report
from heapwright.fleet.judged import remedies_of
from heapwright.fleet.tables import COLUMNS, arrow_schema
from heapwright.model import extras

Rows = dict[str, list[dict[str, Any]]]


def rows_of(report: Report) -> Rows:
    """A row for the process, one for each site, each bounded saving from advice, and each remedy."""
    trace, facts = report.trace, report.facts
    of = trace.metadata
    key: dict[str, Any] = {"host": of.host, "process": of.process_id, "started_unix_ns": of.start_unix_ns}
    is_sampled, has_times = bool(of.sample_mean_bytes), of.durations_recorded
    run_ns = trace.end.time_ns or facts.totals.span_ns
    # A site without a reported series does not grow; with unknown earlier blocks, growth is not known.
    growth = {site.number: row for site, row in Growth(report).rows()}
    sites: list[dict[str, Any]] = []
    for site, sums in zip(report.sites.sites, facts.sites, strict=True):
        if sums.allocations == 0:
            continue
        where, course = site.location, growth.get(site.number)
        sites.append(
            key
            | {
                "run_ns": run_ns,
                "function": where.function,
                "file": where.file,
                "line": where.line,
                "library": where.library,
                "allocations": sums.allocations,
                "bytes": sums.bytes,
                "allocator_ns": sums.allocator_ns + sums.release_ns if has_times and not is_sampled else None,
                "peak_bytes": sums.live_at_peak_bytes,
                "left_bytes": sums.live_at_end_bytes,
                "growth_bytes_per_s": _growth_of(course),
                "kind": course.kind if course else "",
            }
        )
    scans = [scan for scan in facts.residency if scan.is_most_free]
    resident = [one.resident_anonymous_bytes + one.resident_shared_bytes for one in trace.memory_samples]
    process = key | {
        "run_ns": run_ns,
        "program": Path(of.program).name,
        "allocator": of.allocator.partition(" (")[0],
        "is_whole": facts.completeness.is_complete,
        "is_sampled": is_sampled,
        "allocations": facts.totals.allocations,
        "bytes": facts.totals.requested_bytes,
        "allocator_ns": facts.totals.allocator_ns if has_times and not is_sampled else None,
        "peak_bytes": facts.peak.live_bytes,
        "slack_bytes": None if is_sampled else facts.peak.live_usable_bytes - facts.peak.live_bytes,
        "left_bytes": sum(row["left_bytes"] for row in sites),
        "resident_bytes": max(resident, default=None),
        "free_bytes": scans[0].partly_free_bytes + scans[0].free_page_bytes if scans else None,
        "growth_bytes_per_s": sum(row["growth_bytes_per_s"] for row in sites),
    }
    remedies = [key | row for row in remedies_of(report)]
    return {"process": [process], "site": sites, "saving": _savings(report, key), "remedy": remedies}


def _growth_of(course: Row | None) -> float:
    """Sum of growth; memory freed at the end of a run does not offset growth elsewhere."""
    return max(0.0, course.slope_bytes_per_s) if course is not None and course.is_sure else 0.0


def _savings(report: Report, key: dict[str, Any]) -> list[dict[str, Any]]:
    evidence = Evidence(report)
    return [
        key
        | {
            "rule": found.rule.name,
            "action": found.rule.action,
            "name": evidence.name(found.advice.sites[0]),
            "gain_bytes": found.advice.bytes,
            "gain_ns": found.advice.time_ns,
            "is_least": found.rule.is_least,
        }
        for found in proposals(evidence)
        if evidence.is_worth(found.advice.time_ns, found.advice.bytes)
    ]


def files_of(folder: Path, rows: Rows, service: str, version: str) -> dict[str, Path]:
    """The file for the rows of each table; the same recording always gets the same files."""
    first = rows["process"][0]
    began = datetime.fromtimestamp(first["started_unix_ns"] / 1e9, UTC)
    name = quote(f"{first['host']}-{first['process']}-{first['started_unix_ns']}.parquet", safe="")
    parts = (
        f"service={quote(service, safe='')}",
        f"version={quote(version, safe='')}",
        f"date={began:%Y-%m-%d}",
    )
    return {table: folder.joinpath(table, *parts, name) for table in COLUMNS}


def write(path: Path, table: str, rows: list[dict[str, Any]]) -> None:
    """Writes one file; version and service are in its path."""
    arrow, parquet = extras.pyarrow()
    parquet.write_table(arrow.Table.from_pylist(rows, arrow_schema(table)), path, compression="zstd")
