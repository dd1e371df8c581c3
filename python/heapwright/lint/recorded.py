# SPDX-License-Identifier: MIT
"""From a recording to findings: its hottest lines, what stands there, what would remove it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heapwright.explain import site_names
from heapwright.explain.advice.answer import Proposal, proposals
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.report import Report, share
from heapwright.lint import join, lines, remedies
from heapwright.lint.finding import Costs, Finding
from heapwright.lint.join import Named
from heapwright.lint.lines import Group, Groups, Place
from heapwright.lint.parsed import Input, ParsedLines, Progress
from heapwright.model import Facts, Filter, SiteFacts
from heapwright.model.names import short_name

# A line is looked at from this share on, of the allocations, the bytes or the calls' time.
LEAST_SHARE = 0.001
MOST_LINES = 300
_STACKS_FOR_CALLERS = 200
_MOST_CALLERS = 3

# Why allocations are not explained.
NO_LINES, ELSEWHERE, NOT_ASKED, SMALL, NOT_PARSED, NOTHING_NAMED = (
    "no line information",
    "source not in the folder",
    "not among the paths",
    "lines with little each",
    "file not parsed",
    "nothing named at the line",
)
REASONS = (NO_LINES, ELSEWHERE, NOT_ASKED, SMALL, NOT_PARSED, NOTHING_NAMED)


class Reason(NamedTuple):
    """Why so many allocations are not explained, and where most of them are."""

    reason: str
    allocations: int
    where: tuple[str, ...]


class Looked(NamedTuple):
    """findings: most first. explained: allocations, of all that were recorded; lines: that explain them."""

    findings: tuple[Finding, ...]
    allocations: int
    explained: int
    explained_bytes: int
    bytes: int
    lines: int
    files: int
    reasons: tuple[Reason, ...]
    problems: tuple[str, ...]
    time_ns: int


def look(given: Input, progress: Progress) -> Looked:
    """Reads the recording once, twice where copies that the compiler wrote allocate."""
    given.trace.symbols(lambda done, whole: progress("reading symbols", done, whole))
    groups, facts = _read(given, (), progress)
    hot = _hot(given, groups, facts)
    parsed = ParsedLines(given, progress)
    parsed.read(_at(groups, hot))
    implicit = {
        group.place
        for group in _at(groups, hot)
        if group.place is not None
        and _is_implicit(join.name_it(group, parsed.at(group.place), group.place[1]))
    }
    if implicit:
        groups, facts = _read(given, implicit, progress)
        hot = _hot(given, groups, facts)
        parsed.read(_at(groups, hot))
    return _Findings(given, groups, facts, hot, parsed).looked()


def _is_implicit(named: Named | None) -> bool:
    """Nothing at the line itself says so: the compiler wrote it."""
    return named is not None and named.kind == "implicit-copy" and named.expression is None


def _read(given: Input, transparent: Collection[Place], progress: Progress) -> tuple[Groups, Facts]:
    groups = lines.group(given.trace, given.sources, transparent)
    reading = given.trace.begin_facts(groups=groups.of_stack)
    return groups, reading.take(lambda done, whole: progress("reading calls", done, whole))


def _at(groups: Groups, hot: Collection[Place]) -> list[Group]:
    return [group for group in groups.groups if group.place in hot]


def _time(site: SiteFacts) -> int:
    return site.allocator_ns + site.release_ns


def _hot(given: Input, groups: Groups, facts: Facts) -> dict[Place, float]:
    """The lines that are worth a look, by the largest of their shares."""
    measures: tuple[Callable[[SiteFacts], int], ...] = (
        lambda site: site.allocations,
        lambda site: site.bytes,
        _time,
        lambda site: site.live_at_peak_bytes,
    )
    found: dict[Place, float] = {}
    for measure in measures:
        whole = sum(map(measure, facts.sites))
        sums: Counter[Place] = Counter()
        for group, site in zip(groups.groups, facts.sites, strict=True):
            if group.place is not None and _is_asked(given, group.place[0]):
                sums[group.place] += measure(site)
        for place, value in sums.items():
            found[place] = max(found.get(place, 0.0), share(value, whole))
    kept = sorted((place for place in found if found[place] >= LEAST_SHARE), key=lambda one: -found[one])
    return {place: found[place] for place in kept[:MOST_LINES]}


def _is_asked(given: Input, file: str) -> bool:
    return not given.paths or any(Path(file).is_relative_to(path) for path in given.paths)


class _Findings:
    def __init__(
        self, given: Input, groups: Groups, facts: Facts, hot: Mapping[Place, float], parsed: ParsedLines
    ) -> None:
        self._given, self._groups, self._facts, self._hot, self._parsed = given, groups, facts, hot, parsed
        self._named: dict[int, Named] = {}
        for number, group in enumerate(groups.groups):
            if group.place in hot and group.place is not None:
                named = join.name_it(group, parsed.at(group.place), group.place[1])
                if named is not None:
                    self._named[number] = named
        report = Report(given.trace, facts, groups.as_sites(given.trace.sites()), Filter(), 0)
        self._evidence = Evidence(report)
        self._proposals: Sequence[Proposal] = proposals(self._evidence)
        self._pinned = _pinned(facts)
        self._sites = {site.location[:3] for site in given.trace.sites()}
        self._stacks: dict[int, list[int]] = {}
        wanted = set(self._named)
        for stack, number in enumerate(groups.of_stack):
            if number in wanted:
                self._stacks.setdefault(number, []).append(stack)

    def looked(self) -> Looked:
        by_finding: dict[tuple[Place, str, str], list[int]] = {}
        for number, named in self._named.items():
            place = self._groups.groups[number].place
            assert place is not None
            text = named.expression.text if named.expression else ""
            by_finding.setdefault((place, named.kind, text), []).append(number)
        found = [self._finding(place, numbers) for (place, _, _), numbers in by_finding.items()]
        sites = self._facts.sites
        explained = [sites[number] for number in self._named]
        whole = sum(site.allocations for site in sites)
        found.sort(key=lambda one: -self._weight(one))
        return Looked(
            tuple(found),
            whole,
            sum(site.allocations for site in explained),
            sum(site.bytes for site in explained),
            sum(site.bytes for site in sites),
            len({self._groups.groups[number].place for number in self._named}),
            len(self._parsed.files),
            tuple(self._reasons()),
            tuple(f"{self._shown(file)}: {text}" for file, text in sorted(self._parsed.problems.items())),
            self._evidence.time_ns,
        )

    def _weight(self, finding: Finding) -> float:
        costs, totals = finding.costs, self._facts.totals
        assert costs is not None
        return max(
            share(costs.allocations, max(1, totals.allocations)),
            finding.remedy.time_share,
            share(costs.live_at_peak_bytes, max(1, self._facts.peak.live_bytes)),
        )

    def _finding(self, place: Place, numbers: list[int]) -> Finding:
        numbers.sort(key=lambda number: -self._facts.sites[number].allocations)
        group, named = self._groups.groups[numbers[0]], self._named[numbers[0]]
        costs = self._costs(numbers)
        one = named.expression
        finding = Finding(
            named.kind,
            self._shown(place[0]),
            place[1],
            one.column if one and one.begin_line == place[1] else 1,
            short_name(group.location.function),
            one.text if one else "",
            one.type_name if one else "",
            is_exact=named.is_exact,
            callee=short_name(group.callee),
            callers=tuple(self._callers(numbers, place)),
            costs=costs,
        )
        if one is not None:
            finding = finding._replace(owner=one.owner, is_in_loop=one.is_in_loop)
        remedy = remedies.choose(named.kind, finding.owner, costs, numbers, self._evidence, self._proposals)
        if group.location[:3] not in self._sites:  # explain's call site, and replay's, is further in
            remedy = remedy._replace(replay_change="")
        return finding._replace(remedy=remedy)

    def _shown(self, file: str) -> str:
        return self._given.sources.shown(file)

    def _costs(self, numbers: Iterable[int]) -> Costs:
        sums = Costs()
        for number in numbers:
            site = self._facts.sites[number]
            own = Costs(
                site.allocations,
                site.bytes,
                self._evidence.time_of(number),
                site.freed,
                site.temporaries,
                site.lifetime_sum_ns,
                site.live_at_peak_bytes,
                site.live_at_end_blocks,
                site.live_at_end_bytes,
                self._pinned.get(number, 0),
            )
            sums = Costs(*map(sum, zip(sums, own, strict=True)))
        return sums

    def _callers(self, numbers: Iterable[int], place: Place) -> list[str]:
        """The next lines of the user's, with most allocations first."""
        allocations = self._facts.stacks["allocations"]
        stacks = [stack for number in numbers for stack in self._stacks.get(number, ())]
        stacks.sort(key=lambda stack: -allocations[stack])
        sums: Counter[str] = Counter()
        for stack in stacks[:_STACKS_FOR_CALLERS]:
            found = next(lines.callers(self._given.trace, self._given.sources, stack, place), None)
            if found is not None:
                (file, line), location = found
                sums[f"{short_name(location.function)} {self._shown(file)}:{line}"] += allocations[stack]
        return [name for name, _ in sums.most_common(_MOST_CALLERS)]

    def _reasons(self) -> list[Reason]:
        sums: dict[str, Counter[str]] = {reason: Counter() for reason in REASONS}
        for number, (group, site) in enumerate(zip(self._groups.groups, self._facts.sites, strict=True)):
            if site.allocations and number not in self._named:
                reason, where = self._reason(group)
                sums[reason][where] += site.allocations
        found = [
            Reason(reason, own.total(), tuple(name for name, _ in own.most_common(3)))
            for reason, own in sums.items()
            if own
        ]
        return sorted(found, key=lambda reason: -reason.allocations)

    def _reason(self, group: Group) -> tuple[str, str]:
        location = group.location
        if group.place is None:
            if not location.file:
                return NO_LINES, location.library or location.function
            return ELSEWHERE, str(Path(location.file).parent)
        file, line = group.place
        where = f"{self._shown(file)}:{line}"
        if not _is_asked(self._given, file):
            return NOT_ASKED, self._shown(file)
        if group.place not in self._hot:
            return SMALL, where
        if file not in self._parsed.files:
            return NOT_PARSED, self._shown(file)
        return NOTHING_NAMED, f"{where} ({site_names.location_name(location).partition('  ')[0]})"


def _pinned(facts: Facts) -> dict[int, int]:
    """By site, in the scan where it pins most."""
    found: dict[int, int] = {}
    for pin in facts.pins:
        found[pin.site] = max(found.get(pin.site, 0), pin.pinned_bytes)
    return found
