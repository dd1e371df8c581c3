# SPDX-License-Identifier: MIT
"""Runs the sizes requested by a recorded call site through each policy of a buffer cache."""

from __future__ import annotations

import json
import subprocess
from array import array
from pathlib import Path
from typing import Any

import heapwright
from heapwright.cli import native_programs
from heapwright.cli.errors import InputError
from heapwright.model import Filter, extras
from heapwright.model.trace import Trace

LEAST_EVENTS = 1000
# A cache with fewer hits costs more than it saves; one whose callers hold more
# than 5/4 of what they need wastes too much.
LEAST_HIT_PERCENT = 30.0
LEAST_USED_PERCENT = 80.0
TABLE = "  {:20} {:>7} {:>7} {:>15}"


def events_of(trace: Trace, site: str) -> array[int]:
    """In time order: n > 0 is a request of n bytes, n < 0 the release of request -n - 1."""
    by_site = trace.sites_chosen(Filter(site=site))
    if site and not any(by_site):
        raise InputError(f"no call site matches '{site}'; `heapwright explain` lists them")
    chosen = ", ".join(str(number) for number, passes in enumerate(by_site) if passes)
    condition = f"site in ({chosen})" if site else "true"
    connection = extras.duckdb().connect()
    connection.execute("set enable_progress_bar = false")
    connection.register("block", trace.table("block"))
    rows = connection.execute(
        f"""with taken as (
              select row_number() over (order by begin_ns, address) as request, size, begin_ns, end_ns
              from (select size, begin_ns, end_ns, address from block where {condition} and size > 0))
            select number from (
              select size::bigint as number, begin_ns as moment, 1 as later, request from taken
              union all
              select -request, end_ns, 0, request from taken where end_ns is not null)
            order by moment, later, request"""
    ).fetchall()
    return _in_order([number for (number,) in rows])


def _in_order(numbers: list[int]) -> array[int]:
    """Numbers requests in order; a release never comes before its request."""
    events: array[int] = array("q")
    requests = 0
    early: set[int] = set()
    for number in numbers:
        if number < 0 and -number > requests:
            early.add(-number)
            continue
        events.append(number)
        if number > 0:
            requests += 1
            if requests in early:
                events.append(-requests)
    return events


def replay(path: Path, site: str) -> dict[str, Any]:
    """What each policy would do, and which one to use ("none" if none helps)."""
    program = native_programs.find("heapwright-lab")
    events = events_of(heapwright.open(path), site)
    if not events:
        raise InputError(f"{path} has no block from that site")
    done = subprocess.run([program, "replay-sizes"], input=events.tobytes(), capture_output=True, check=False)
    if done.returncode != 0:
        raise InputError(done.stderr.decode(errors="replace").strip())
    found: dict[str, Any] = json.loads(done.stdout)
    return {"schema": "heapwright.size_replay/1", "site": site, **found, **_verdict(found)}


def _verdict(found: dict[str, Any]) -> dict[str, str]:
    if found["events"] < LEAST_EVENTS:
        return {"use": "unknown", "because": f"fewer than {LEAST_EVENTS} requests and releases"}
    fit = [
        row
        for row in found["policies"]
        if row["hit_percent"] >= LEAST_HIT_PERCENT and row["used_percent"] >= LEAST_USED_PERCENT
    ]
    if not fit:
        return {
            "use": "none",
            "because": f"no policy has {LEAST_HIT_PERCENT:.0f} % hits with {LEAST_USED_PERCENT:.0f} % used",
        }
    best = max(fit, key=lambda row: (row["hit_percent"], row["used_percent"]))
    return {
        "use": best["policy"],
        "because": f"{best['hit_percent']:.1f} % hits, the most of those that waste little",
    }


def as_text(found: dict[str, Any]) -> str:
    """The table and the verdict."""
    lines = [TABLE.format("policy", "hits %", "used %", "most bytes kept")]
    for row in found["policies"]:
        cells = (f"{row['hit_percent']:.1f}", f"{row['used_percent']:.1f}", f"{row['peak_retained_bytes']:,}")
        lines.append(TABLE.format(row["policy"], *cells))
    lines.append(f"use: {found['use']} ({found['because']})")
    return "\n".join(lines)
