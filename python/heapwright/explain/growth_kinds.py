# SPDX-License-Identifier: MIT
"""Classifies one site's growth: leak (or growing, if the exit frees it), creep, warm-up, sawtooth or steady.

All thresholds are here. bench/growth/ measures the rates of false positives and
false negatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from heapwright.explain import growth_steps, trend

LEAK, GROWING, CREEP, WARM_UP = "leak", "growing", "creep", "warm-up"
SAWTOOTH, STEADY, SHRINKING, UNKNOWN = "sawtooth", "steady", "shrinking", "unknown"
KINDS = (LEAK, GROWING, CREEP, WARM_UP, SAWTOOTH, STEADY, SHRINKING, UNKNOWN)

LEAST_BINS = 64  # a quarter of a run: 16 places for a change, four medians per eighth
_END = 0.1  # a program that frees everything does so in its last tenth
_LEAST_SHARE = 0.05  # of what the site holds: less growth is ignored
_SAME_SLOPE = 0.2  # of the latest: random loads bend as much by chance
_SLOWED = 0.5  # of the growth of the half before
_STILL = 0.25  # of the end's level: less growth, if not certain, is a filled cache's variation
_FILLED = 0.5  # of the end's level: less at the start means it was filling
_STEADY_COUNT = 0.2
_LARGER = 0.1  # of the mean size
_IN_PLACE = 0.65  # of the growth: half of it, if the number of small blocks varies
_FALLS, _FALLS_FOR_FLOOR = 3, 10
_DEPTH = 0.5  # of the upper level
_BINS_A_WAVE = 4
_WAVERS = 1.35


class Course(NamedTuple):
    """What a site held at the ends of equal bins. largest_bytes: its largest block ever."""

    live_bytes: Sequence[int]
    blocks: Sequence[int]
    largest_bytes: int = 0


class Verdict(NamedTuple):
    """kind: one of KINDS. begin, end: the bins that the slope covers.

    slope: bytes per bin, at the end. reason: why it is unknown. steady_from: of a creep, the first bin with
    this number of blocks.
    """

    kind: str
    begin: int
    end: int
    slope: trend.Slope
    reason: str = ""
    steady_from: int = 0


_NO_SLOPE = trend.Slope(0.0, math.inf, False)


def verdict(course: Course, least_bytes: float) -> Verdict:
    """least_bytes: smaller growth does not count."""
    end = _before_the_end(course.live_bytes)
    values: Sequence[int] = course.live_bytes[:end]
    if len(values) < LEAST_BINS:
        return Verdict(UNKNOWN, 0, end, _NO_SLOPE, "its growth is known for only a small part of the run")
    known = growth_steps.contents(values)
    values = values if known is None else known
    if max(values) - min(values) < least_bytes:
        return Verdict(STEADY, 0, end, _NO_SLOPE)
    begin, found = _latest(values)
    falls = _falls(values)
    if falls:
        return _of_waves(values, falls, least_bytes, begin, found)
    creep = _creep(course, end, least_bytes) if known is None else None
    if creep is not None:
        return creep._replace(slope=found, begin=begin)
    kind = _kind(values, begin, found, least_bytes)
    if kind == LEAK and _held_as_much(values, begin):
        return Verdict(
            UNKNOWN, begin, end, found._replace(is_sure=False), "it held as much before, and released it"
        )
    reason = "it grew, but a steady load may do so for a while" if kind == UNKNOWN else ""
    return Verdict(kind, begin, end, found, reason)


def _latest(values: Sequence[int]) -> tuple[int, trend.Slope]:
    """The slope at the end and its start: the latest change, or an earlier one if the slope was nearly the
    same before, or if the figures since are too few to be certain and do not contradict it."""
    *earlier, begin = trend.changes(values)
    found = latest = trend.slope(values[begin:])
    for place in reversed(earlier):
        wider = trend.slope(values[place:])
        unlike = abs(wider.each - latest.each)
        # A jump in level keeps the slope, but not its interval.
        is_known = wider.is_sure and wider.half_width <= abs(wider.each) / 2
        is_same = is_known and unlike <= _SAME_SLOPE * abs(latest.each)
        if _bends(values[place:begin], latest):
            break
        if not is_same and (found.is_sure or unlike > min(latest.half_width, abs(wider.each) / 2)):
            break
        begin, found = place, wider
    return begin, found


def _bends(before: Sequence[int], latest: trend.Slope) -> bool:
    """Whether these figures alone certainly grow far less, or far more: a wider slope would hide a short
    part."""
    own = trend.slope(before)
    return abs(own.each - latest.each) - own.half_width > _SLOWED * abs(latest.each)


def _before_the_end(values: Sequence[int]) -> int:
    """Without the last bins, in which the program frees what it held for good."""
    number = len(values)
    first = number - int(number * _END)
    level = median(values[max(0, first - 8) : first] or [0])
    end = number
    while end > first and values[end - 1] < level / 2:
        end -= 1
    return end


def _kind(values: Sequence[int], begin: int, found: trend.Slope, least_bytes: float) -> str:
    tail = values[begin:]
    eighth = max(1, len(tail) // 8)
    level = median(tail[-eighth:])
    grown = found.each * len(tail)
    is_much = abs(grown) >= max(least_bytes, _LEAST_SHARE * level)
    if found.is_sure and is_much and grown > 0:
        return WARM_UP if _slows(tail) else LEAK
    if found.is_sure and is_much:
        return SHRINKING
    start, lowest = median(values[:4]), sorted(tail)[len(tail) // 20]
    has_filled = level - start >= least_bytes and start < min(_FILLED * level, lowest)
    seems_to_grow = is_much and grown > 0 and (found.each > found.half_width or _ends_above(tail))
    if seems_to_grow and (grown >= _STILL * level or not has_filled):
        return WARM_UP if _slows(tail) else UNKNOWN
    return WARM_UP if has_filled else STEADY


def _held_as_much(values: Sequence[int], begin: int) -> bool:
    """Whether a twentieth of the bins before the growth was at the level of its end."""
    before = sorted(values[:begin])
    return bool(before) and before[-1 - begin // 20] >= median(values[-max(1, (len(values) - begin) // 8) :])


def _ends_above(tail: Sequence[int]) -> bool:
    """Whether its last quarter is entirely above its first."""
    points = trend.blocks(tail)
    quarter = len(points) // 4
    return min(points[-quarter:]) > max(points[:quarter])


def _slows(tail: Sequence[int]) -> bool:
    """Whether its second half grew far less than its first, beyond what its scatter explains."""
    points = trend.blocks(tail)
    number = len(points) // 4
    levels = [
        median(points[at : at + number]) for at in (0, (len(points) - number) // 2, len(points) - number)
    ]
    first, second = levels[1] - levels[0], levels[2] - levels[1]
    steps = sorted(
        abs(after - 2 * now + before)
        for before, now, after in zip(points, points[1:], points[2:], strict=False)
    )
    # The second difference of noise is sqrt(6) times its deviation; a median of `number` figures is off by
    # 1.25 deviations over the root of their number.
    noise = median(steps) / 0.6745 / math.sqrt(6) * 1.25 / math.sqrt(number) if steps else 0.0
    return _SLOWED * first - second > 2 * noise * math.sqrt(_SLOWED**2 + (1 + _SLOWED) ** 2 + 1)


def _falls(values: Sequence[int]) -> list[int]:
    """Where a sawtooth's waves end; none if it is not a sawtooth."""
    each = trend.slope(values).each
    rest = [value - each * place for place, value in enumerate(values)]
    falls = trend.troughs(rest)
    if len(falls) < _FALLS or len(values) < _BINS_A_WAVE * len(falls):
        return []
    order = sorted(rest)
    depth = order[-1 - len(order) // 20] - order[len(order) // 20]
    if trend.winding(rest, len(falls)) > _WAVERS:
        return []
    return falls if depth >= _DEPTH * sorted(values)[-1 - len(values) // 20] else []


def _of_waves(
    values: Sequence[int], falls: Sequence[int], least_bytes: float, begin: int, found: trend.Slope
) -> Verdict:
    """A sawtooth, or a leak below one: the level after each fall grows."""
    end = len(values)
    if len(falls) >= _FALLS_FOR_FLOOR:
        floor = trend.slope([values[place] for place in falls])
        grown = floor.each * len(falls)
        # A wave's lowest figure is from a bin's end: it may be off by one bin's change.
        a_bin = (max(values) - min(values)) * len(falls) / end
        if floor.is_sure and grown >= max(least_bytes, _LEAST_SHARE * max(values), 2 * a_bin):
            scale = (len(falls) - 1) / (falls[-1] - falls[0])
            return Verdict(
                LEAK,
                falls[0],
                end,
                floor._replace(each=floor.each * scale, half_width=floor.half_width * scale),
            )
    return Verdict(SAWTOOTH, begin, end, found)


def _creep(course: Course, end: int, least_bytes: float) -> Verdict | None:
    """Blocks that grow while their number is steady, until the end or for a while before."""
    counts = trend.blocks(course.blocks[:end], 64)
    level = median(counts[-16:])
    steady = 0
    while steady < len(counts) and abs(counts[-1 - steady] - level) <= _STEADY_COUNT * level:
        steady += 1
    begin = end - steady * end // len(counts)
    if steady < 16 or not level:
        return None
    pairs = zip(course.live_bytes[begin:end], course.blocks[begin:end], strict=True)
    sizes = [held / count for held, count in pairs if count]
    if len(sizes) < LEAST_BINS:
        return None
    found = trend.slope(sizes)
    eighth = len(sizes) // 8
    first, last = median(sizes[:eighth]), median(sizes[-eighth:])
    change = median(counts[-4:]) - median(counts[-steady:][:4])
    by_size, by_count = level * (last - first), abs(change) * last
    if by_size <= 2 * course.largest_bytes:  # one buffer beside them grew, and is there twice while it moves
        return None
    # A few additional large blocks, besides many small ones, are not ratcheting sizes.
    if by_size <= abs(change) * course.largest_bytes and not _grows_in_place(course, begin, end):
        return None
    if not found.is_sure or found.each < 0 or last < (1 + _LARGER) * first:
        return None
    return Verdict(CREEP, begin, end, found, "", begin) if by_size >= max(least_bytes, by_count) else None


def _grows_in_place(course: Course, begin: int, end: int) -> bool:
    """Whether its bytes grow in bins without more blocks."""
    steps = zip(pairwise(course.live_bytes[begin:end]), pairwise(course.blocks[begin:end]), strict=True)
    grown = sum(after - before for (before, after), (fewer, more) in steps if more <= fewer)
    return grown >= _IN_PLACE * (course.live_bytes[end - 1] - course.live_bytes[begin])
