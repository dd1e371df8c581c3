#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often loads that do not grow are called growing, and those that grow are not found.

Makes LOADS courses of each kind of bench/growth/loads.py, with the seeds 0 to
LOADS - 1, and asks what heapwright.explain.growth_kinds says. The same again as
a recording with --sample would see them. Then programs of ten such sites each:
a false alarm in any of them is one. The counts go to OUTPUT/growth.json. They
depend on the seeds alone, not on the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import loads
from heapwright.explain.growth_kinds import CREEP, LEAK, Course, verdict

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

LEAST_SHARE = 0.002  # of the peak, as in heapwright.explain.growth
SITES = 10


def sampled(events: Iterator[loads.Event], chance: random.Random, samples: float) -> Iterator[loads.Event]:
    """What a recording would see that takes about so many samples: each block by chance, weighing more."""
    whole = list(events)
    mean = max(1.0, sum(size for _, size, blocks in whole if blocks > 0) / samples)
    born: dict[int, list[float]] = {}
    for time, size, blocks in whole:
        if blocks > 0 and abs(blocks) == 1:
            share = -math.expm1(-size / mean)
            weight = 1 / share if chance.random() < share else 0.0
            born.setdefault(size, []).append(weight)
            if weight:
                yield time, round(size * weight), round(weight)
        elif blocks == -1:
            waiting = born.get(-size)
            weight = waiting.pop(0) if waiting else 0.0
            if weight:
                yield time, round(size * weight), -round(weight)


def kind_of(course: tuple[list[int], list[int], int], least_bytes: float | None = None) -> str:
    live_bytes, blocks, largest = course
    least = LEAST_SHARE * max(live_bytes, default=0) if least_bytes is None else least_bytes
    return verdict(Course(live_bytes, blocks, largest), max(1.0, least)).kind


def of_sites(number: int) -> dict[str, dict[str, Counter[str]]]:
    """The verdicts by kind of load."""
    found: dict[str, dict[str, Counter[str]]] = {"stationary": {}, "sampled": {}, "growing": {}}
    for name, made in loads.STATIONARY.items():
        found["stationary"][name] = Counter(
            kind_of(loads.course(made(random.Random(f"{name} {seed}")))) for seed in range(number)
        )
        if name in ("poisson", "periodic", "phases", "queue"):  # whose blocks come and go one by one
            found["sampled"][name] = Counter(
                kind_of(
                    loads.course(
                        sampled(made(random.Random(f"{name} {seed}")), random.Random(f"sample {seed}"), 2000)
                    )
                )
                for seed in range(number)
            )
        print(name, dict(found["stationary"][name]), dict(found["sampled"].get(name, {})), flush=True)
    for name, (made, _) in loads.GROWING.items():
        found["growing"][name] = Counter(
            kind_of(loads.course(made(random.Random(f"{name} {seed}")))) for seed in range(number)
        )
        print(name, dict(found["growing"][name]), flush=True)
    return found


def of_programs(number: int) -> int:
    """How many programs of SITES sites that do not grow have a site that is called growing."""
    alarms = 0
    for seed in range(number):
        chance = random.Random(f"program {seed}")
        courses = [
            loads.course(loads.STATIONARY[chance.choice([*loads.STATIONARY])](chance)) for _ in range(SITES)
        ]
        peak = max(map(sum, zip(*(live_bytes for live_bytes, *_ in courses), strict=True)))
        alarms += any(kind_of(course, LEAST_SHARE * peak) in (LEAK, CREEP) for course in courses)
    return alarms


def of_slopes(number: int) -> dict[str, dict[str, int]]:
    """By blocks of a leak of one rate: how often its slope's interval holds it, and a later begin is said."""
    found: dict[str, dict[str, int]] = {}
    for blocks in (60, 500, 5000):
        slope = blocks * loads.RANDOM_LEAK_BYTES / loads.BINS
        verdicts = [
            verdict(Course(*loads.course(loads.random_leak(random.Random(f"{blocks} {seed}"), blocks))), 1)
            for seed in range(number)
        ]
        found[str(blocks)] = {
            "held": sum(abs(one.slope.each - slope) <= one.slope.half_width for one in verdicts),
            "begin_said": sum(one.begin > 0 for one in verdicts),
        }
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--loads", type=int, default=500, help="of each kind")
    options = parser.parse_args()
    found = of_sites(options.loads)
    alarms = {
        group: sum(kinds[LEAK] + kinds[CREEP] for kinds in found[group].values())
        for group in ("stationary", "sampled")
    }
    result = {
        "sources": sources.stamp("growth"),
        "loads_of_a_kind": options.loads,
        "stationary_loads": options.loads * len(found["stationary"]),
        "false_alarms": alarms["stationary"],
        "sampled_loads": options.loads * len(found["sampled"]),
        "false_alarms_sampled": alarms["sampled"],
        "programs": options.loads,
        "sites_a_program": SITES,
        "programs_with_a_false_alarm": of_programs(options.loads),
        "found": {
            name: sum(found["growing"][name][kind] for kind in right)
            for name, (_, right) in loads.GROWING.items()
        },
        "slopes": of_slopes(options.loads),
        "kinds": found,
    }
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "growth.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print({key: value for key, value in result.items() if key not in ("kinds", "sources")})
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
