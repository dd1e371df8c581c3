# SPDX-License-Identifier: MIT
"""How full the heap's pages were at each scan, cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heapwright.explain.report import Report
from heapwright.page.packing import Pack

LEVELS = 14  # of use, above: not resident, resident without a block
_MOST_BLOCKS = 255
_GAP_CELLS = 16  # a larger hole begins a new band


def bands(report: Report) -> list[tuple[int, int]]:
    """(address, cells) of each stretch of address space that any scan has a cell in."""
    size = report.facts.cell_bytes
    found: list[tuple[int, int]] = []
    for address in sorted(set(report.facts.page_cells["address"])):
        if found and address - (found[-1][0] + found[-1][1] * size) <= _GAP_CELLS * size:
            found[-1] = (found[-1][0], (address - found[-1][0]) // size + 1)
        else:
            found.append((address, 1))
    return found


def pack(report: Report, site_number: Callable[[int], int]) -> Pack:
    """Scan by scan, for all cells of the bands: levels; then numbers of blocks; then sites from 1 on."""
    size, columns = report.facts.cell_bytes, report.facts.page_cells
    place_of: dict[int, int] = {}
    cells = 0
    for address, count in bands(report):
        for at in range(count):
            place_of[address + at * size] = cells + at
        cells += count
    scans = len(report.facts.scans)
    levels = [bytearray(cells) for _ in range(scans)]
    blocks = [bytearray(cells) for _ in range(scans)]
    sites = [[0] * cells for _ in range(scans)]
    for scan, address, site, resident, used, count in _rows(columns):
        place = place_of[address]
        levels[scan][place] = _level(used, resident) if count else 1
        blocks[scan][place] = min(count, _MOST_BLOCKS)
        if count:
            sites[scan][place] = site_number(site) + 1
    found = Pack()
    for table in (*levels, *blocks):
        found.data += table
    for row in sites:
        for site in row:
            found.number(site)
    return found


def _level(used: int, resident: int) -> int:
    """2 to 15: how much of what is resident is in use.

    >>> _level(1, 16384), _level(8192, 16384), _level(16384, 16384)
    (2, 8, 15)
    """
    return 2 + min(LEVELS - 1, (LEVELS - 1) * used // max(1, resident))


def _rows(columns: Any) -> Any:
    names = ("scan", "address", "site", "resident_bytes", "used_bytes", "blocks")
    return zip(*(columns[name] for name in names), strict=True)
