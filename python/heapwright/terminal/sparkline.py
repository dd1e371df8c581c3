# SPDX-License-Identifier: MIT
"""Values over time as a line of bars."""

from __future__ import annotations

from collections.abc import Sequence

_LEVELS = " ▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], scale: float, cells: int) -> str:
    """A bar is the largest value of its part; what is below 0 has none.

    >>> sparkline([0, 1, 2, 4], 4, cells=4)
    ' ▂▄█'
    """
    if not values or scale <= 0:
        return ""
    bars = []
    for cell in range(cells):
        first = cell * len(values) // cells
        last = max(first + 1, (cell + 1) * len(values) // cells)
        bars.append(_LEVELS[max(0, min(8, int(-(-8 * max(values[first:last]) // scale))))])
    return "".join(bars)
