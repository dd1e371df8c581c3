# SPDX-License-Identifier: MIT
"""Hosts and processes that stand apart, and figures by day: planted ones, and none where there is nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_fleet import ENGINES, SECOND, ask, process_rows, put

pytest.importorskip("pyarrow")
DAY_NS = 86_400 * SECOND
MEGABYTE = 1_000_000


def rows_of(host: int, number: int, day: int, peak: int, **others: Any) -> dict[str, list[dict[str, Any]]]:
    """A process whose sites "steady" and "cache" hold its peak."""
    rows = process_rows(number, 0, {"steady": 10 * MEGABYTE, "cache": peak - 10 * MEGABYTE})
    key = {"host": f"h{host}", "process": number, "started_unix_ns": day * DAY_NS + number}
    for of in rows.values():
        for row in of:
            row.update(key)
    rows["process"][0].update(others)
    return rows


def peak_of(number: int) -> int:
    """11.0 to 11.4 MB, the same mixture in each host."""
    return 11 * MEGABYTE + 100_000 * (number % 5)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten hosts with five processes each: host 3 holds 2 MB more, one process of host 7 holds 50 MB, the free
    memory of host 5 is 8 MB instead of 1."""
    folder = tmp_path_factory.mktemp("apart")
    for host in range(10):
        for number in range(5):
            peak = peak_of(number) + (2 * MEGABYTE if host == 3 else 0)
            if (host, number) == (7, 2):
                peak = 50 * MEGABYTE
            free = 8 * MEGABYTE if host == 5 else MEGABYTE + 1000 * number
            rows = rows_of(host, 100 * host + number, 10 + number % 2, peak, free_bytes=free)
            put(folder, rows, "shop", "1")
    for host in range(7):  # too few siblings
        put(folder, rows_of(host, host, 10, (20 if host else 90) * MEGABYTE), "few", "1")
    return folder


@pytest.mark.parametrize("engine", ENGINES)
def test_planted_hosts_and_processes_stand_apart(fleet: Path, engine: str) -> None:
    rows = ask(fleet, "outliers", engine)
    told = [(row["host"], row["figure"], row["is_whole_host"], row["processes_apart"]) for row in rows]
    assert told == [("h5", "free", True, 5), ("h3", "peak", True, 5), ("h7", "peak", False, 1)]
    free, host, process = rows
    assert (free["usual"], free["value"], free["function"]) == (1_002_000, 8 * MEGABYTE, None)
    assert (host["usual"], host["value"], host["more"]) == (11_200_000, 13_200_000, 2_000_000)
    assert (host["processes"], host["siblings"], host["deviation"]) == (5, 10, 0)
    assert (host["function"], host["service"], host["version"]) == ("cache", "shop", "1")
    # The mean of the other 45 processes has the 50 MB in it.
    others = (9 * sum(map(peak_of, range(5))) - peak_of(2) + 50 * MEGABYTE) / 45
    assert host["site_more"] == pytest.approx(13_200_000 - others)
    assert (process["value"], process["siblings"], process["function"]) == (50 * MEGABYTE, 50, "cache")


@pytest.mark.parametrize("engine", ENGINES)
def test_medians_by_day(fleet: Path, engine: str) -> None:
    rows = [row for row in ask(fleet, "trend", engine) if row["service"] == "shop"]
    assert [(row["date"], row["processes"]) for row in rows] == [("1970-01-12", 20), ("1970-01-11", 30)]
    later = rows[0]
    # The odd numbers 1 and 3 of ten hosts: 11.1 and 11.3 MB, two of them 2 MB more; the 19th of 20.
    assert (later["median_peak_bytes"], later["p95_peak_bytes"]) == (11_300_000, 13_100_000)
    assert later["median_growth_bytes_per_s"] == 2.5
    assert later["median_free_bytes"] == 1_003_000
    assert (later["median_slack_bytes"], later["incomplete"]) == (7, 0)
