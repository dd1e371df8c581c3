# SPDX-License-Identifier: MIT
"""Parses heapwright count's --dump-above and --dump-when into triggers."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from heapwright.cli.arguments import parse_size, parse_time
from heapwright.cli.errors import InputError
from heapwright.live import memory_limits
from heapwright.live.triggers import (
    ENDS,
    KINDS,
    LIVE,
    Cgroup,
    Failed,
    Growth,
    Level,
    Oom,
    Pressure,
    Resident,
    Trigger,
)

_LEAST_GROWTH_NS = 10**9


def make_triggers(above_bytes: int | None, when: Sequence[str]) -> list[Trigger]:
    """Refuses the same kind twice: their files would have the same name."""
    triggers: list[Trigger] = []
    if above_bytes:
        triggers.append(Resident(above_bytes))
    for text in when:
        if text in ENDS:
            continue
        trigger = _trigger(text)
        if any(trigger.name == other.name for other in triggers):
            raise InputError(f"--dump-when has {trigger.name} twice; give each once")
        triggers.append(trigger)
    return triggers


def ends_among(when: Sequence[str]) -> list[str]:
    """The ends of the program at which samples are written, each once."""
    return [kind for kind in ENDS if kind in when]


def _trigger(text: str) -> Trigger:
    kind, _, value = text.partition("=")
    if kind == "cgroup" and (percent := _percent(value)):
        if memory_limits.cgroup_room(os.getpid()) is None:
            raise InputError(
                "--dump-when cgroup: no cgroup of this process limits memory; oom works without one"
            )
        return Cgroup(percent)
    if kind == "pressure" and (percent := _percent(value)):
        if memory_limits.pressure_percent(os.getpid()) is None:
            raise InputError("--dump-when pressure: this kernel does not report it (/proc/pressure/memory)")
        return Pressure(percent)
    grows = LIVE if kind == "growth" else kind.removesuffix("-growth")
    if kind.endswith("growth") and grows in KINDS and value.count("/") == 1:
        size, _, time = value.partition("/")
        option = f"--dump-when {kind}"
        return _growth(kind, parse_size(option, size), parse_time(option, time), grows)
    if kind in KINDS and value:
        return Level(kind, parse_size(f"--dump-when {kind}", value))
    if text == "oom":
        return Oom()
    if text == Failed.name:
        return Failed()
    others = ", ".join(one for one in KINDS if one != "anonymous")
    raise InputError(
        f"--dump-when takes cgroup=90%, pressure=20%, growth=100M/1min, anonymous=2G (or {others}), "
        f"anonymous-growth=100M/1min, oom, failed, {', '.join(ENDS)}, not '{text}'"
    )


def _growth(option: str, by_bytes: int, within_ns: int, kind: str) -> Growth:
    if by_bytes == 0 or within_ns < _LEAST_GROWTH_NS:
        raise InputError(f"--dump-when {option} takes bytes above 0 and a time of at least 1s")
    return Growth(by_bytes, within_ns / 1e9, kind)


def _percent(text: str) -> float:
    """The percentage; 0: not one."""
    found = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)%", text)
    return float(found[1]) if found and 0 < float(found[1]) <= 100 else 0.0
