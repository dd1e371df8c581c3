# SPDX-License-Identifier: MIT
"""The input of the rules: the facts of a site, the run's length, whose code it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple

from heapwright.explain import estimates, pool_names, site_names
from heapwright.explain.advice import containers
from heapwright.explain.advice.rule import Advice
from heapwright.explain.growing_sites import Growth
from heapwright.explain.growth_kinds import GROWING, LEAK
from heapwright.explain.report import Report, share
from heapwright.explain.settings import HIGHEST_MMAP_THRESHOLD
from heapwright.explain.telling_scan import telling_scan
from heapwright.model import Location, SiteFacts
from heapwright.model.facts import CopiedGrowth, Residency, SiteSizes
from heapwright.model.sites import MARKS
from heapwright.report import units

# Smaller gains are not reported: a run of the changed program would not show them.
LEAST_TIME_SHARE = 0.02
LEAST_TIME_NS = 1_000_000
LEAST_BYTES_SHARE = 0.05
LEAST_BYTES = 1 << 20
_NEAR = 0.05  # sites this near are checked, so that the largest gain below the floor is right

_LARGEST_CONTROL_BLOCK = 40
_LEAST_CONTROL_BLOCKS = 100  # of one stack
_MOST_STACKS = 16  # of a site that are searched for containers
_MOST_COPYING_STACKS = 256  # a tree is copied by recursion: a stack for each place in it
_LEAST_LOOKED_AT = 0.5  # of the site's bytes
_LEAST_THREAD_SHARE = 0.01
_LEAST_REST_NS = 20_000_000

_SYSTEM_FOLDERS = ("/lib", "/usr/lib")


class ControlBlocks(NamedTuple):
    """Sums over a site's blocks; time: of their calls and frees."""

    allocations: int
    usable_bytes: int
    live_at_peak_blocks: int
    time_ns: int


# Of the site's blocks: else larger ones follow smaller ones by chance.
_MOST_ARE_STEPS = 0.8
_LEAST_SMALL_STEPS = 100
# Copied bytes per final byte: growth by a half copies two at most, by a quarter four.
LEAST_TIMES_COPIED = 5


class ExactGrowth(NamedTuple):
    """final_bytes: what no larger block replaced. time_ns: from the new blocks to the old ones' frees."""

    steps: int
    copied_bytes: int
    final_bytes: int
    time_ns: int


class FirstOfDeques(NamedTuple):
    """What deques make in their constructors: a block and a map each. Of the peak."""

    blocks: int
    bytes: int


class Evidence:
    """Built once for all rules."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.facts = report.facts
        metadata = report.trace.metadata
        self.is_sampled = report.facts.spreads is not None
        self.has_times = metadata.durations_recorded and not self.is_sampled
        self.is_glibc = metadata.allocator.startswith("glibc")
        self.peak_bytes = max(report.facts.peak.live_usable_bytes, report.facts.peak.live_bytes)
        self._containers: dict[int, tuple[str, float]] = {}

    @property
    def allocation_cost_ns(self) -> int:
        """The recorder's cost per allocation, without the real call."""
        return self.report.trace.metadata.self_cost_allocation_ns

    @property
    def release_cost_ns(self) -> int:
        return self.report.trace.metadata.self_cost_release_ns

    @cached_property
    def time_ns(self) -> int:
        """The process's CPU time without the recorder's. In older traces: the lifetimes of the calling
        threads, minus the recorder's time in them."""
        if self.report.cpu_ns:
            return self.report.cpu_ns
        cost, threads = self.facts.recorder, self.facts.threads
        most = max((thread.allocator_ns for thread in threads), default=0)
        busy = [
            number
            for number, thread in enumerate(threads)
            if thread.allocator_ns >= max(1, most * _LEAST_THREAD_SHARE)
        ]
        lived_ns = self.report.time_of_threads(busy)
        return max(lived_ns - cost.calls_ns - cost.waited_ns, self.facts.totals.allocator_ns, 1)

    def site(self, number: int) -> SiteFacts:
        return self.facts.sites[number]

    def sizes(self, number: int) -> SiteSizes:
        return self.facts.site_sizes[number]

    def has_percentiles(self, number: int) -> bool:
        """False if the histogram had no room for some sizes: the percentiles then cover part of the calls."""
        return self.sizes(number).counted >= self.site(number).allocations

    def name(self, number: int) -> str:
        return site_names.site_name(self.report.sites[number])

    def time_of(self, number: int) -> int:
        """Time of the site's calls and of the frees of its blocks; 0 = not known."""
        site = self.site(number)
        return site.allocator_ns + site.release_ns if self.has_times else 0

    def candidates(self, least_allocations: int = 100) -> list[int]:
        """Sites near or above the floor by their calls or their blocks at the peak, most time first.
        Without the parts' own blocks."""
        facts = self.facts.sites
        found = [
            number
            for number, site in enumerate(facts)
            if site.allocations >= least_allocations
            and (
                self.time_of(number) >= _NEAR * LEAST_TIME_SHARE * self.time_ns > 0
                or site.live_at_peak_bytes + self.lost_bytes(number)
                >= _NEAR * LEAST_BYTES_SHARE * self.peak_bytes
            )
        ]
        found.sort(key=lambda number: (-self.time_of(number), -facts[number].live_at_peak_bytes))
        return [number for number in found if not self.is_a_pool(number)]

    def is_worth(self, time_ns: int, count_bytes: int) -> bool:
        """Whether a gain this large is reported."""
        is_long = time_ns >= max(LEAST_TIME_NS, LEAST_TIME_SHARE * self.time_ns)
        return is_long or count_bytes >= max(LEAST_BYTES, LEAST_BYTES_SHARE * self.peak_bytes)

    @property
    def resident_bytes(self) -> int:
        """Resident bytes at the scan with the most free memory; 0 = no scan."""
        return self.scan_with_most_free[1].resident_bytes if self.scan_with_most_free else 0

    def is_worth_resident(self, count_bytes: int) -> bool:
        """Whether a gain this large in that resident memory is reported."""
        return count_bytes >= max(LEAST_BYTES, LEAST_BYTES_SHARE * self.resident_bytes)

    def least_of_samples(self, advice: Advice) -> int:
        """The lower end of the confidence interval of the gain in bytes."""
        spreads = self.facts.spreads
        assert spreads is not None
        blocks = spreads.site_live[advice.sites[0]].peak_blocks
        return estimates.interval(advice.bytes, estimates.scaled(blocks, advice.bytes_each))[0]

    def above_raising(self, sites: Iterable[int]) -> int:
        """The largest block of these sites, if it is one that the C library maps however often it was freed;
        else 0."""
        largest = max((self.sizes(site).max_bytes for site in sites), default=0)
        return largest if largest >= HIGHEST_MMAP_THRESHOLD else 0

    def most_bytes_at_once(self, number: int) -> int:
        return max(self.site(number).own_peak_bytes, 1)

    def times_over(self, number: int) -> float:
        """How many times the site allocated the most blocks it ever held at once."""
        return self.site(number).bytes / self.most_bytes_at_once(number)

    def lost_bytes(self, number: int, round_to: int = 8) -> int:
        """Bytes of this site at the peak lost to the allocator's rounding, and to headers where known."""
        return int(self.site(number).live_at_peak_blocks * self.lost_bytes_each(number, round_to))

    def lost_bytes_each(self, number: int, round_to: int = 8) -> float:
        """The same per block."""
        site = self.site(number)
        per_block = site.overhead_bytes / max(1, site.allocations)
        own_rounding = (-(site.bytes // max(1, site.allocations))) % round_to
        return max(0.0, per_block + (8 if self.is_glibc else 0) - own_rounding)

    def is_cpp(self, number: int) -> bool:
        """The site calls operator new."""
        site = self.site(number)
        return 2 * site.by_operator_new >= site.allocations > 0

    def is_a_pool(self, number: int) -> bool:
        """The site fills a pool, by its name, its frames, or what it calls."""
        site = self.report.sites[number]
        if pool_names.is_pool(site.location.function) or (site.through.is_all and site.through.is_shared):
            return True
        return self.container(number)[0] == "heapwright"

    def container(self, number: int) -> tuple[str, float]:
        """The container of most of the site's blocks, by the functions between allocator and site, and
        the share of its allocations; "" if none is found."""
        if number not in self._containers:
            self._containers[number] = self._find_container(number)
        return self._containers[number]

    def _find_container(self, number: int) -> tuple[str, float]:
        weights: dict[str, int] = {}
        stacks = self._stacks.get(number, [])[:_MOST_STACKS]
        for allocations, stack in stacks:
            kind = self._container_of(stack, self.report.sites[number].location)
            weights[kind] = weights.get(kind, 0) + allocations
        if not weights:
            return "", 0.0
        kind, most = max(weights.items(), key=lambda item: item[1])
        return kind, share(most, self.site(number).allocations)

    def bucket_arrays(self, number: int) -> int:
        """Of the site's blocks at the peak, those that hash tables made for their buckets."""
        columns = self.facts.stacks["live_at_peak_blocks"]
        return sum(
            int(columns[stack])
            for _, stack in self._stacks.get(number, [])[:_MOST_STACKS]
            if self._container_of(stack, self.report.sites[number].location) == "buckets"
        )

    def first_of_deques(self, number: int) -> FirstOfDeques:
        """Of the site's blocks at the peak."""
        columns = self.facts.stacks
        first = [
            stack
            for _, stack in self._stacks.get(number, [])[:_MOST_STACKS]
            if any(map(containers.makes_deque, self._above(stack, number)))
        ]
        return FirstOfDeques(
            sum(int(columns["live_at_peak_blocks"][stack]) for stack in first),
            sum(int(columns["live_at_peak_bytes"][stack]) for stack in first),
        )

    def made_by(self, number: int) -> str:
        """What makes most of the site's blocks, in words: std::regex; "" for nothing known."""
        weights: dict[str, int] = {}
        for allocations, stack in self._stacks.get(number, [])[:_MOST_STACKS]:
            kind = next(filter(None, map(containers.maker_of, self._above(stack, number))), "")
            weights[kind] = weights.get(kind, 0) + allocations
        return max(weights, key=lambda kind: weights[kind], default="")

    def copied(self, number: int) -> tuple[str, float]:
        """The container that is copied whole with most of the site's bytes, and its share of those looked at;
        "" if none is. A copy that becomes part of another container is not meant."""
        weights: dict[str, int] = {}
        for _, stack in self._stacks.get(number, [])[:_MOST_COPYING_STACKS]:
            outermost = ""
            for location in self._above(stack, number):
                if containers.kind_of(location) in containers.HOLDING:
                    outermost = containers.copied(location)
            weights[outermost] = weights.get(outermost, 0) + int(self.facts.stacks["bytes"][stack])
        kind, most = max(weights.items(), key=lambda item: item[1], default=("", 0))
        looked_at = sum(weights.values())
        is_known = looked_at >= _LEAST_LOOKED_AT * self.site(number).bytes
        return (kind, share(most, looked_at)) if is_known else ("", 0.0)

    @cached_property
    def growing(self) -> frozenset[int]:
        """Sites whose blocks become more and more to the end, certainly or by a sign of a leak."""
        rows = Growth(self.report._replace(top=len(self.facts.sites))).rows()
        return frozenset(
            site.number for site, row in rows if row.sign or (row.is_sure and row.kind in (LEAK, GROWING))
        )

    @cached_property
    def _stacks(self) -> dict[int, list[tuple[int, int]]]:
        """By site: allocations and stack, most first."""
        found: dict[int, list[tuple[int, int]]] = {}
        site_of_stack = self.report.sites.site_of_stack
        for stack, allocations in enumerate(self.facts.stacks["allocations"].tolist()):
            if allocations:
                found.setdefault(site_of_stack[stack], []).append((allocations, stack))
        for stacks in found.values():
            stacks.sort(reverse=True)
        return found

    def _above(self, stack: int, number: int) -> Iterator[Location]:
        """The frames between the allocator and the site."""
        return self._until(stack, self.report.sites[number].location)

    def _until(self, stack: int, site: Location) -> Iterator[Location]:
        for location in self._locations(stack):
            if (location.function, location.file, location.line) == (site.function, site.file, site.line):
                return
            yield location

    def _container_of(self, stack: int, site: Location) -> str:
        for location in self._until(stack, site):
            kind = containers.kind_of(location)
            if kind:
                return kind
        return ""

    def _locations(self, stack: int) -> Iterator[Location]:
        """Frames of a stack, innermost first; lazily, as few are needed."""
        trace = self.report.trace
        tree, symbols = trace.stack_columns, trace.symbols()
        while stack != 0:
            frame = tree["frame"][stack]
            yield from [MARKS[frame]] if frame in MARKS else symbols.locations(frame)
            stack = tree["parent"][stack]

    def owner(self, number: int) -> str:
        """The system library that contains the site; otherwise ""."""
        library = self.report.sites[number].location.library
        metadata = self.report.trace.metadata
        if not library or library == metadata.program.rsplit("/", 1)[-1]:
            return ""
        paths = [module.path for module in self.report.trace.modules if module.path.endswith("/" + library)]
        return library if any(path.startswith(_SYSTEM_FOLDERS) for path in paths) else ""

    @cached_property
    def scan_with_most_free(self) -> tuple[int, Residency] | None:
        """The scan of resident memory to use, not that of the teardown; its number and itself."""
        number = telling_scan(self.report)
        return (number, self.facts.residency[number]) if number >= 0 else None

    @cached_property
    def idle_share(self) -> float:
        """Share of the run in pauses of 20 ms or more without a heap call of any thread."""
        steps = self.facts.timeline
        idle_ns = 0
        for _, same in groupby(pairwise(steps), lambda pair: pair[1].allocations == pair[1].releases == 0):
            pairs = list(same)
            span_ns = pairs[-1][1].time_ns - pairs[0][0].time_ns
            is_idle = pairs[0][1].allocations == pairs[0][1].releases == 0
            idle_ns += span_ns if is_idle and span_ns >= _LEAST_REST_NS else 0
        return share(idle_ns, self.facts.totals.span_ns)

    @cached_property
    def growths(self) -> dict[int, CopiedGrowth]:
        """By site, without those that grew only by small steps."""
        return {growth.site: growth for growth in self.facts.copied_growths if growth.steps}

    def exact_growth(self, number: int) -> ExactGrowth | None:
        """How the site's blocks grew, if each took over what the one before held and a little more."""
        growth = self._all_growths.get(number)
        if growth is None or growth.small_steps < _LEAST_SMALL_STEPS:
            return None
        site, steps = self.site(number), growth.small_steps + growth.steps
        copied = growth.small_copied_bytes + growth.copied_bytes
        final = max(1, site.bytes - copied)
        is_exact = steps >= _MOST_ARE_STEPS * site.allocations and copied >= LEAST_TIMES_COPIED * final
        return ExactGrowth(steps, copied, final, growth.small_time_ns + growth.time_ns) if is_exact else None

    @cached_property
    def _all_growths(self) -> dict[int, CopiedGrowth]:
        return {growth.site: growth for growth in self.facts.copied_growths}

    def copies_ns(self, number: int) -> int:
        """Upper bound for copying the site's buffers that grew by a new block: 1 ns/byte with page faults."""
        growth = self.growths.get(number)
        return growth.copied_bytes if growth is not None and self.has_times else 0

    def sizes_in_words(self, number: int) -> str:
        sizes = self.sizes(number)
        if sizes.min_bytes == sizes.max_bytes:
            return f"all {units.size(sizes.max_bytes)}"
        return (
            f"{units.size(sizes.min_bytes)} to {units.size(sizes.max_bytes)}, half up to "
            f"{units.size(sizes.p50_bytes)}, 90 % up to {units.size(sizes.p90_bytes)}"
        )

    @cached_property
    def control_blocks(self) -> dict[int, ControlBlocks]:
        """By site: the control blocks that shared_ptr allocates for existing objects."""
        found: dict[int, ControlBlocks] = {}
        columns = self.facts.stacks
        fields = ("allocations", "by_operator_new", "bytes", "overhead_bytes", "live_at_peak_blocks",
                  "allocator_ns", "release_ns")  # fmt: skip
        rows = zip(*(columns[field].tolist() for field in fields), strict=True)
        for stack, (allocations, by_new, size, overhead, live, allocator_ns, release_ns) in enumerate(rows):
            is_small = size <= _LARGEST_CONTROL_BLOCK * allocations
            if not by_new or not is_small or allocations < _LEAST_CONTROL_BLOCKS:
                continue
            site = self.report.sites.site_of_stack[stack]
            if self._container_of(stack, self.report.sites[site].location) == "control block":
                sums = found.get(site, ControlBlocks(0, 0, 0, 0))
                own = (allocations, size + overhead, live, allocator_ns + release_ns)
                found[site] = ControlBlocks(*map(sum, zip(sums, own, strict=True)))
        return found
