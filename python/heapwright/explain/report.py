# SPDX-License-Identifier: MIT
"""The input of every question, and the parts of an answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from heapwright.explain import site_names
from heapwright.explain.allocators import Allocator, allocator_of
from heapwright.explain.replayed import ReplayedFigure
from heapwright.model import Facts, Filter, Site, SiteFacts, Sites, Trace
from heapwright.model.trace import NO_LIMIT
from heapwright.report.columns import Column

Answer = dict[str, Any]

# Reached only if sums exceed 64 bits, in traces with impossible sizes.
LARGEST_SHARE = 1.0


class Report(NamedTuple):
    """A trace, what was selected of it, and the facts of the selection."""

    trace: Trace
    facts: Facts
    sites: Sites
    chosen: Filter
    top: int
    suppressions: tuple[str, ...] = ()  # of LeakSanitizer's kind
    limit_bytes: int = 0  # of the process's memory; 0 = none given
    at_ns: int = NO_LIMIT  # the requested moment; NO_LIMIT = none
    replayed: Mapping[
        str, Sequence[ReplayedFigure]
    ] = {}  # by what was replayed: --change, or a setting as NAME=VALUE

    searched: Mapping[str, Sequence[ReplayedFigure]] = {}  # settings tried without any advice, NAME=VALUE
    not_checked: str = ""  # why no replay tried the remedies, though some could be tried

    @property
    def allocator(self) -> Allocator:
        """The allocator that served the heap calls, with its settings."""
        return allocator_of(self.trace.metadata, self.facts.allocator_options)

    @property
    def has_unseen_blocks(self) -> bool:
        """True if there may be live blocks that the trace does not know: from before it, or from a pause."""
        covered = self.trace.coverage
        return self.trace.metadata.is_fork_child or not covered.has_start or covered.pauses > 0

    @property
    def cpu_ns(self) -> int:
        """The process's CPU time in the selected spans, without the recorder's work. 0 = not known: an older
        trace, or one with chosen threads."""
        processor = self.facts.processor
        if not processor.is_known or self.chosen.threads:
            return 0
        return max(processor.cpu_ns - self.facts.recorder.calls_ns, self.facts.totals.allocator_ns, 1)

    @property
    def base_ns(self) -> int:
        """What times are shares of: CPU time, or where that is not known the threads' wall time."""
        return self.cpu_ns or self.thread_time_ns

    @property
    def thread_time_ns(self) -> int:
        """Recorded wall time of all threads."""
        chosen = self.chosen.threads or [thread.index for thread in self.trace.threads]
        return max(self.time_of_threads(chosen), self.facts.totals.allocator_ns)

    def time_of_threads(self, wanted: Collection[int]) -> int:
        """Recorded wall time of these threads, by index."""
        end_ns = self.trace.end.time_ns or self.facts.totals.span_ns
        spans = self.facts.coverage.spans
        wanted = set(wanted)
        total = 0
        for thread in self.trace.threads:
            if thread.index not in wanted:
                continue
            exit_ns = thread.exit_ns or end_ns
            total += sum(
                max(0, min(exit_ns, span.to_ns) - max(thread.first_ns, span.from_ns)) for span in spans
            )
        return total

    def top_sites(self, value: Callable[[SiteFacts], int]) -> list[tuple[Site, SiteFacts]]:
        """The sites with the largest values, without zeros."""
        facts = self.facts.sites
        order = sorted(range(len(facts)), key=lambda site: -value(facts[site]))[: self.top]
        return [(self.sites[site], facts[site]) for site in order if value(facts[site]) > 0]


class Finding(NamedTuple):
    """One sentence for the first screen, ordered by weight."""

    weight: float
    text: str
    question: str = ""  # set by explain()
    parts: tuple[str, ...] = ()  # of docs/parts: advice names them
    is_nothing: bool = False  # it says that there is nothing to change, or that this is not known


# Fewer bytes are worth no one's time, whatever part of the peak they are.
LEAST_BYTES = 64 << 10


def weight_of(weight: float, size: float) -> float:
    """A finding's weight: about fewer bytes than LEAST_BYTES it stands behind all others."""
    return weight if size >= LEAST_BYTES else 0.01 * weight


def site_record(site: Site) -> Answer:
    """A site as plain data."""
    nested = {"nested": site.through._asdict()} if site.through.functions else {}
    return {
        "site": site.number,
        "function": site.location.function,
        "file": site.location.file,
        "line": site.location.line,
        "library": site.location.library,
        "name": site_names.site_name(site),
        **nested,
    }


def share(part: int | float, whole: int | float) -> float:
    """part / whole, 0 if whole is 0. part must not exceed whole."""
    return min(LARGEST_SHARE, part / whole) if whole > 0 else 0.0


def base_in_words(answer: Answer) -> str:
    """What a share of time is of; the answer has cpu_ns."""
    return "CPU time" if answer["cpu_ns"] else "the threads' time"


# Of every answer with shares of time.
CPU_NS = Column(
    "cpu_ns",
    "ns",
    about="The process's CPU time, without the recorder's work, which times are shares of. 0 = not known (an "
    "older trace, chosen threads): they are shares of thread_time_ns.",
)


def heaviest(findings: Sequence[Finding], limit: int) -> list[Finding]:
    """The findings with the most weight."""
    return sorted(findings, key=lambda finding: -finding.weight)[:limit]
