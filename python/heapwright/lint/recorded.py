# SPDX-License-Identifier: MIT
"""From a recording to findings: its hottest lines, their expressions, and how to avoid them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heapwright.explain import site_names
from heapwright.explain.advice.answer import Proposal, proposals
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.report import share
from heapwright.lint import hot as hot_lines
from heapwright.lint import join, lines, members, remedies
from heapwright.lint.finding import Costs, Finding
from heapwright.lint.hot import Reading
from heapwright.lint.join import Named
from heapwright.lint.lines import Group, Groups, Place
from heapwright.lint.members import Joined
from heapwright.lint.parsed import Input, ParsedLines, Progress
from heapwright.model.names import short_name

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
    """Why some allocations are not explained, and where most of them are."""

    reason: str
    allocations: int
    where: tuple[str, ...]


class Looked(NamedTuple):
    """findings: most first. explained: allocations, of all recorded ones; lines: that explain them."""

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
    """Reads the recording once, or twice if compiler-generated copies allocate."""
    given.trace.symbols(lambda done, whole: progress("reading symbols", done, whole))
    reading = hot_lines.read(given, (), progress)
    hot = hot_lines.hot(given, reading)
    parsed = ParsedLines(given, progress)
    parsed.read(_at(reading.groups, hot))
    implicit = {
        group.place
        for group in _at(reading.groups, hot)
        if group.place is not None
        and _is_implicit(join.name_it(group, parsed.at(group.place), group.place[1]))
    }
    if implicit:
        reading = hot_lines.read(given, implicit, progress)
        hot = hot_lines.hot(given, reading)
        parsed.read(_at(reading.groups, hot))
    return _Findings(given, reading, hot, parsed).looked()


def _is_implicit(named: Named | None) -> bool:
    """Whether it is compiler-generated: no expression at the line matches."""
    return named is not None and named.kind == "implicit-copy" and named.expression is None


def _at(groups: Groups, hot: Collection[Place]) -> list[Group]:
    return [group for group in groups.groups if group.place in hot]


class _Findings:
    def __init__(
        self, given: Input, reading: Reading, hot: Mapping[Place, float], parsed: ParsedLines
    ) -> None:
        self._given, self._reading, self._hot, self._parsed = given, reading, hot, parsed
        self._groups, self._facts = reading.groups, reading.facts
        groups = reading.groups
        self._named: dict[int, Named] = {}
        for number, group in enumerate(groups.groups):
            if group.place in hot and group.place is not None and self._has_blocks(number):
                named = join.name_it(group, parsed.at(group.place), group.place[1])
                if named is not None:
                    self._named[number] = named
        self._evidence = Evidence(reading.report)
        self._proposals: Sequence[Proposal] = proposals(self._evidence)
        self._sites = {site.location[:3] for site in given.trace.sites()}
        self._stacks: dict[int, list[int]] = {}
        wanted = set(self._named)
        for stack, number in enumerate(groups.of_stack):
            if number in wanted:
                self._stacks.setdefault(number, []).append(stack)

    def _has_blocks(self, number: int) -> bool:
        """Some groups only release."""
        site = self._facts.sites[number]
        return bool(site.allocations or site.live_at_peak_bytes or self._reading.pinned_bytes[number])

    def looked(self) -> Looked:
        joined = members.join(self._named, self._groups.groups, self._reading.growth)
        found = [self._finding(one) for one in joined]
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
            share(costs.pinned_bytes, self._reading.most_resident_bytes()),
            share(finding.growing.grown_bytes if finding.growing else 0, self._facts.peak.live_bytes),
        )

    def _finding(self, joined: Joined) -> Finding:
        """The finding at the line that allocates most, for a creeping member at the one that holds most."""
        sites = self._facts.sites
        measure = "allocations" if joined.creep is None else "live_at_end_bytes"
        numbers = sorted(joined.numbers, key=lambda number: -getattr(sites[number], measure))
        group, named = self._groups.groups[numbers[0]], self._named[numbers[0]]
        place = group.place
        assert place is not None
        costs = self._costs(numbers)
        one = named.expression
        finding = Finding(
            joined.kind,
            self._shown(place[0]),
            place[1],
            one.column if one and one.begin_line == place[1] else 1,
            short_name(group.location.function),
            one.text if one else "",
            one.type_name if one else "",
            is_exact=named.is_exact,
            callee=short_name(group.callee),
            callers=tuple(self._callers(numbers)),
            costs=costs,
            others=tuple(
                f"{self._shown(file)}:{line}"
                for file, line in members.others((self._groups.groups[one] for one in numbers), place)
            ),
            growing=members.growing(joined.creep or self._reading.growth.together(joined.numbers)),
        )
        if one is not None:
            finding = finding._replace(owner=one.owner, is_in_loop=one.is_in_loop)
        if joined.creep is not None:
            remedy = members.remedy(joined.creep, named.kind, self._facts.peak.live_bytes)
            return finding._replace(message=members.message(finding.owner.name), remedy=remedy)
        remedy = remedies.choose(named.kind, finding.owner, costs, numbers, self._evidence, self._proposals)
        if group.location[:3] not in self._sites:  # the call site of explain and replay is further in
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
                self._reading.pinned_bytes[number],
            )
            sums = Costs(*map(sum, zip(sums, own, strict=True)))
        return sums

    def _callers(self, numbers: Iterable[int]) -> list[str]:
        """The calling lines in the user's sources, most allocations first."""
        allocations = self._facts.stacks["allocations"]
        groups = self._groups.groups
        stacks = [
            (stack, groups[number].place) for number in numbers for stack in self._stacks.get(number, ())
        ]
        stacks.sort(key=lambda one: -allocations[one[0]])
        sums: Counter[str] = Counter()
        for stack, place in stacks[:_STACKS_FOR_CALLERS]:
            assert place is not None
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
        if not hot_lines.is_asked(self._given, file):
            return NOT_ASKED, self._shown(file)
        if group.place not in self._hot:
            return SMALL, where
        if file not in self._parsed.files:
            return NOT_PARSED, self._shown(file)
        return NOTHING_NAMED, f"{where} ({site_names.location_name(location).partition('  ')[0]})"
