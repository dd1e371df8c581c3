# SPDX-License-Identifier: MIT
# length: made-up loads one after the other, each a few lines
"""Made-up courses of a site: loads that do not grow, and loads that do. Deterministic by their seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

BINS = 256
Event = tuple[float, int, int]  # time of a run from 0 to 1, bytes and blocks that come (or go)
Made = Callable[[random.Random], Iterator[Event]]


def size_of(chance: random.Random) -> Callable[[], int]:
    """A way to draw a block's size."""
    kind = chance.randrange(4)
    if kind == 0:
        size = chance.choice((16, 24, 64, 100, 1000, 4096))
        return lambda: size
    if kind == 1:
        return lambda: 1 + int(chance.lognormvariate(5, 1))
    if kind == 2:
        return lambda: min(1 << 20, int(32 * chance.paretovariate(1.5)))
    return lambda: chance.randint(1, 2000)


def lifetime_of(chance: random.Random) -> Callable[[], float]:
    """A way to draw a lifetime, as a share of the run; its mean is at most a tenth of it."""
    mean = 10 ** chance.uniform(-4, -1)
    kind = chance.randrange(5)
    if kind == 0:
        return lambda: chance.expovariate(1 / mean)
    if kind == 1:
        return lambda: mean
    if kind == 2:  # a few live much longer than most
        return lambda: chance.expovariate(1 / (mean if chance.random() < 0.1 else mean / 10))
    if kind == 3:
        alpha = chance.uniform(1.6, 3)
        return lambda: mean / 2 * (alpha - 1) / alpha * chance.paretovariate(alpha)
    return lambda: chance.lognormvariate(math.log(mean) - 0.5, 1)


def _born(chance: random.Random, times: Iterator[float]) -> Iterator[Event]:
    size, lifetime = size_of(chance), lifetime_of(chance)
    for time in times:
        drawn = size()
        yield time, drawn, 1
        yield time + lifetime(), -drawn, -1


def _arrivals(chance: random.Random, rate: Callable[[float], float], most: float) -> Iterator[float]:
    """Poisson's, of a rate that changes (thinning)."""
    time = 0.0
    while (time := time + chance.expovariate(most)) < 1:
        if chance.random() * most < rate(time):
            yield time


def poisson(chance: random.Random) -> Iterator[Event]:
    """Requests at random times."""
    rate = 10 ** chance.uniform(2.5, 4)
    return _born(chance, _arrivals(chance, lambda _: rate, rate))


def periodic(chance: random.Random) -> Iterator[Event]:
    """Requests that come in waves: three to sixty in a run."""
    rate, waves, depth = 10 ** chance.uniform(2.5, 4), chance.uniform(3, 60), chance.uniform(0.2, 1)
    turn = chance.random()
    return _born(
        chance,
        _arrivals(
            chance, lambda t: rate * (1 + depth * math.sin(2 * math.pi * (waves * t + turn))), 2 * rate
        ),
    )


def bursts(chance: random.Random) -> Iterator[Event]:
    """Jobs that take much at once."""
    jobs = chance.randint(20, 400)
    size, lifetime = size_of(chance), lifetime_of(chance)
    for _ in range(jobs):
        time, stay = chance.random(), lifetime()
        for _ in range(chance.randint(5, 60)):
            drawn = size()
            yield time, drawn, 1
            yield time + stay, -drawn, -1


def phases(chance: random.Random) -> Iterator[Event]:
    """Two or three kinds of work in turn, each with a rate of its own; some twenty changes."""
    rates = [10 ** chance.uniform(2.5, 4) for _ in range(chance.randint(2, 3))]
    changes = sorted(chance.random() for _ in range(chance.randint(12, 40)))
    of_phase = [chance.choice(rates) for _ in range(len(changes) + 1)]

    def rate(time: float) -> float:
        return of_phase[sum(change < time for change in changes)]

    return _born(chance, _arrivals(chance, rate, max(rates)))


def queue(chance: random.Random) -> Iterator[Event]:
    """A queue with one server, busy half to nearly all of its time."""
    busy, rate = chance.uniform(0.5, 0.95), 10 ** chance.uniform(3, 4)
    size, free = size_of(chance), 0.0
    for time in _arrivals(chance, lambda _: rate, rate):
        drawn = size()
        free = max(free, time) + chance.expovariate(rate / busy)
        yield time, drawn, 1
        yield free, -drawn, -1


def pool(chance: random.Random) -> Iterator[Event]:
    """A fixed number of blocks, each replaced by one of another size now and then."""
    slots = chance.randint(1, 500)
    size = size_of(chance)
    held = [size() for _ in range(slots)]
    fill = chance.uniform(0.001, 0.02)
    for slot, drawn in enumerate(held):
        yield fill * slot / slots, drawn, 1
    rate = slots * 10 ** chance.uniform(1.3, 2.5)
    for time in _arrivals(chance, lambda _: min(rate, 2e4), min(rate, 2e4)):
        if time > fill:
            slot, drawn = chance.randrange(slots), size()
            yield time, drawn - held[slot], 0
            held[slot] = drawn


def evicting_cache(chance: random.Random) -> Iterator[Event]:
    """A cache that was full before a tenth of the run and evicts at random from then on."""
    room, size = chance.randint(50, 2000), size_of(chance)
    full = chance.uniform(0.005, 0.1)
    held: list[int] = []
    for time in _arrivals(chance, lambda _: min(2e4, room / full), min(2e4, room / full)):
        if len(held) >= room:
            place = chance.randrange(len(held))
            yield time, -held[place], -1
            held[place] = held[-1]
            held.pop()
        held.append(size())
        yield time, held[-1], 1


def sawtooth(chance: random.Random) -> Iterator[Event]:
    """Fills and empties."""
    waves, a_wave, size = chance.randint(4, 60), chance.randint(50, 400), size_of(chance)
    for wave in range(waves):
        held = 0
        for place in range(a_wave):
            drawn = size()
            held += drawn
            yield (wave + place / a_wave) / waves, drawn, 1
        yield (wave + 1) / waves - 1e-9, -held, -a_wave


def wandering(chance: random.Random) -> Iterator[Event]:
    """A level that is pulled back to its mean, within a twentieth to a hundredth of the run."""
    level, pull, size = chance.randint(100, 1000), chance.uniform(20, 100), chance.choice((16, 100, 4096))
    steps, count = 5000, level
    yield 0.0, size * level, level
    for step in range(steps):
        change = round(
            (level - count) * pull / steps + chance.gauss(0, 0.3 * level * math.sqrt(2 * pull / steps))
        )
        change = max(change, -count)
        count += change
        yield step / steps, size * change, change


def large_blocks_beside_small(chance: random.Random) -> Iterator[Event]:
    """A steady number of small blocks, and a cache of a few large ones that fills once, of one site."""
    small, large = chance.randint(500, 5000), chance.randint(10, 60)
    size, large_size, full = size_of(chance), chance.choice((1 << 16, 1 << 20)), chance.uniform(0.1, 0.7)
    for place in range(small):
        yield 0.01 * place / small, size(), 1
    for place in range(large):
        yield full * place / large, large_size, 1


STATIONARY: dict[str, Made] = {
    made.__name__: made
    for made in (
        poisson, periodic, bursts, phases, queue, pool, evicting_cache, sawtooth, wandering,
    )
}  # fmt: skip


def _with_noise(chance: random.Random, events: Iterator[Event], share: float) -> Iterator[Event]:
    """Beside requests whose blocks come and go, which hold `share` of what the growth makes in all."""
    grown = list(events)
    yield from grown
    most = sum(size for time, size, _ in grown if time < 1)
    rate, mean = 3000.0, 10 ** chance.uniform(-3, -1.5)
    size = max(1, int(share * most / (rate * mean)))
    for time in _arrivals(chance, lambda _: rate, rate):
        yield time, size, 1
        yield time + chance.expovariate(1 / mean), -size, -1


def leak(chance: random.Random) -> Iterator[Event]:
    """Blocks that stay, at a steady rate."""
    rate, size = 10 ** chance.uniform(2, 3.5), size_of(chance)
    return ((time, size(), 1) for time in _arrivals(chance, lambda _: rate, rate))


def leak_in_noise(chance: random.Random) -> Iterator[Event]:
    """The same, where requests hold as much as is leaked in the whole run."""
    return _with_noise(chance, leak(chance), 1.0)


def leak_from_half_way(chance: random.Random) -> Iterator[Event]:
    """Nothing wrong, then a leak."""
    begin, rate, size = chance.uniform(0.35, 0.65), 10 ** chance.uniform(2.3, 3.5), 100
    grown = ((t, size, 1) for t in _arrivals(chance, lambda t: rate if t > begin else 0, rate))
    return _with_noise(chance, grown, 0.5)


def leak_below_a_sawtooth(chance: random.Random) -> Iterator[Event]:
    """Each wave leaves some blocks behind."""
    waves, a_wave, size = chance.randint(12, 40), chance.randint(50, 400), chance.choice((16, 100, 4096))
    left = max(1, round(a_wave * chance.uniform(0.05, 0.2)))
    for wave in range(waves):
        for place in range(a_wave):
            yield (wave + place / a_wave) / waves, size, 1
        yield (wave + 1) / waves - 1e-9, -(a_wave - left) * size, -(a_wave - left)


def creep(chance: random.Random) -> Iterator[Event]:
    """Pooled objects whose vectors keep their capacity: mean 1.5 elements, 100 at most."""
    objects, element = chance.choice((50, 200, 1000)), chance.choice((8, 48))
    requests = objects * chance.randint(10, 100)
    capacity = [0] * objects
    for request in range(requests):
        place = chance.randrange(objects)
        wanted = min(100, int(chance.paretovariate(1.2)))
        while capacity[place] < wanted:
            grown = max(1, 2 * capacity[place])
            yield request / requests, (grown - capacity[place]) * element, int(capacity[place] == 0)
            capacity[place] = grown


def filling_cache(chance: random.Random) -> Iterator[Event]:
    """Fills once, until a tenth to 0.7 of the run, then evicts or stays."""
    room, full, size = chance.randint(200, 3000), chance.uniform(0.1, 0.7), size_of(chance)
    evicts = chance.random() < 0.5
    held: list[int] = []
    for place in range(int(room / full)):
        time = place * full / room
        if len(held) == room:
            if not evicts:
                return
            out = chance.randrange(room)
            yield time, -held[out], -1
            held[out] = held[-1]
            held.pop()
        held.append(size())
        yield time, held[-1], 1


def saturating_cache(chance: random.Random) -> Iterator[Event]:
    """Filled by keys that come back: each new one is rarer than that before."""
    keys, requests, size = chance.randint(200, 2000), 0, size_of(chance)
    requests = keys * chance.randint(5, 12)
    seen = set()
    for request in range(requests):
        key = chance.randrange(keys)
        if key not in seen:
            seen.add(key)
            yield request / requests, size(), 1


GROWING: dict[str, tuple[Made, tuple[str, ...]]] = {
    "leak": (leak, ("leak",)),
    "leak in noise": (leak_in_noise, ("leak",)),
    "leak from half way": (leak_from_half_way, ("leak",)),
    "leak below a sawtooth": (leak_below_a_sawtooth, ("leak",)),
    "creep of a pool": (creep, ("creep",)),
    "cache that fills once": (filling_cache, ("warm-up",)),
    "cache that saturates": (saturating_cache, ("warm-up",)),
    "large blocks beside small": (large_blocks_beside_small, ("warm-up",)),
    "sawtooth": (sawtooth, ("sawtooth",)),
}


RANDOM_LEAK_BYTES = 1000


def random_leak(chance: random.Random, blocks: int) -> Iterator[Event]:
    """So many blocks that stay, each at a random time."""
    for _ in range(blocks):
        yield chance.random(), RANDOM_LEAK_BYTES, 1


def course(events: Iterator[Event]) -> tuple[list[int], list[int], int]:
    """Live bytes and blocks at the ends of the bins, and the largest block that was made."""
    largest = 0
    changes_bytes, changes_blocks = [0] * (BINS + 1), [0] * (BINS + 1)
    for time, size, count in events:
        place = min(BINS, max(0, int(time * BINS)))
        changes_bytes[place] += size
        changes_blocks[place] += count
        largest = max(largest, 2 * size if count == 0 else size // abs(count))  # a block that doubled
    held_bytes, held_blocks = [], []
    now_bytes = now_blocks = 0
    for place in range(BINS):
        now_bytes += changes_bytes[place]
        now_blocks += changes_blocks[place]
        held_bytes.append(now_bytes)
        held_blocks.append(now_blocks)
    return held_bytes, held_blocks, largest
