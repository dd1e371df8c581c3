# SPDX-License-Identifier: MIT
"""Text on the call sites that make the difference between the reference and another candidate."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.replay.decision import LEAST_DIFFERENCE, best_of
from heapwright.replay.figures import FIGURES
from heapwright.replay.result import CallSite, CallSites, Document, Held, HeldSite, Outcome
from heapwright.report import units


def fastest(document: Document) -> Outcome | None:
    """The candidate, besides the reference, whose call sites are shown."""
    timed = [one for one in document.candidates if one.call_sites and not one.failure]
    return best_of(document, FIGURES[0]) or min(
        timed, key=lambda one: one.call_sites.ns if one.call_sites else 0.0, default=None
    )


def about_times(document: Document, limit: int) -> list[str]:
    """Which call sites make the difference in time between the reference and the fastest other candidate."""
    best = fastest(document)
    found = best.call_sites if best else None
    if not best or not found or not limit:
        return []
    names = f"{best.name} and {document.reference}"
    sites = found.sites[:limit]
    if not sites:
        return [f"No call site's time differs between {names} by more than noise."]
    these = _these(sites, found, "ns")
    return [
        f"Timed call by call, {_between(names, best, found)} most at {these}:",
        *(_line(site, "ns", units.counted(site.calls, "call")) for site in sites),
    ]


def about_memory(document: Document, limit: int) -> list[str]:
    """The same for memory at the reference's peak, for the candidate with the least then or at its peak.

    A site that differs by less than LEAST_DIFFERENCE of all memory is left out.
    """
    held = [one for one in document.candidates if one.memory_sites and not one.failure]
    best = best_of(document, FIGURES[1]) or min(
        held, key=lambda one: one.memory_sites.bytes if one.memory_sites else 0.0, default=None
    )
    found = best.memory_sites if best else None
    if not best or not found or not limit:
        return []
    least_bytes = LEAST_DIFFERENCE * found.reference_bytes
    sites = [site for site in found.sites if abs(site.difference_bytes) >= least_bytes][:limit]
    when = f"At {units.duration(found.time_ns)}, when {document.reference} has most memory"
    whole = units.signed(found.difference_bytes, "bytes")
    rest = f"{units.signed(found.unowned_difference_bytes, 'bytes')} in pages without a block"
    none = "no call site differs by more than noise and 1 %"
    if not sites and abs(found.difference_bytes) <= max(found.noise_bytes, least_bytes):
        return [f"{when}, {best.name} has as much; {none}."]
    if not sites:
        return [f"{when}, {best.name} has {whole}, {rest}; {none}."]
    these = _these(sites, found, "bytes")
    return [
        f"{when}, {best.name} has {whole}: {rest}, and of the rest most at {these}:",
        *(_line(site, "bytes", units.counted(site.blocks, "block")) for site in sites),
    ]


def about(document: Document, limit: int) -> list[str]:
    """Both."""
    return [*about_times(document, limit), *about_memory(document, limit)]


def _line(site: CallSite | HeldSite, unit: str, count: str) -> str:
    """unit: ns or bytes, as in the fields' names."""
    difference = units.signed(getattr(site, f"difference_{unit}"), unit)
    return f"  {difference} ± {units.number(getattr(site, f'noise_{unit}'), unit)}  {count}  {site.name}"


def _between(names: str, best: Outcome, found: CallSites) -> str:
    cpu = best.figures.get(FIGURES[0].key)
    beside = f" (CPU time: {units.signed(cpu.difference, 'ns')})" if cpu else ""
    if abs(found.difference_ns) <= found.noise_ns:
        return f"{names} take the same time in total{beside}; they differ"
    return f"the difference between {names} is {units.signed(found.difference_ns, 'ns')}{beside};"


def _these(sites: Sequence[CallSite | HeldSite], found: CallSites | Held, unit: str) -> str:
    """With their share of the difference, unless other sites offset it."""
    word = "this call site" if len(sites) == 1 else f"these {len(sites)} call sites"
    together = sum(site.share for site in sites)
    difference, noise = (getattr(found, f"{what}_{unit}") for what in ("difference", "noise"))
    is_part = abs(difference) > noise and 0 < together < 1.005
    return f"{word} ({100 * together:.0f} % of it)" if is_part else word
