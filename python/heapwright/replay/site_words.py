# SPDX-License-Identifier: MIT
"""Text on the call sites that make the difference between the reference and another candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heapwright.replay.decision import FIGURES, LEAST_DIFFERENCE, best_of
from heapwright.report import units


def fastest(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The candidate, besides the reference, whose call sites are shown."""
    return best_of(document, FIGURES[0]) or _least(document, "call_sites", "ns")


def about_times(document: Mapping[str, Any], limit: int) -> list[str]:
    """Which call sites make the difference in time between the reference and the fastest other candidate."""
    best = fastest(document)
    found = best["call_sites"] if best else None
    if not best or not found or not limit:
        return []
    names = f"{best['name']} and {document['reference']}"
    sites = found["sites"][:limit]
    if not sites:
        return [f"No call site's time differs between {names} by more than noise."]
    these = _these(sites, found, "ns")
    return [
        f"Timed call by call, {_between(names, best)} most at {these}:",
        *(_line(site, "ns", units.counted(site["calls"], "call")) for site in sites),
    ]


def about_memory(document: Mapping[str, Any], limit: int) -> list[str]:
    """The same for memory at the reference's peak, for the candidate with the least then or at its peak.

    A site that differs by less than LEAST_DIFFERENCE of all memory is left out.
    """
    best = best_of(document, FIGURES[1]) or _least(document, "memory_sites", "bytes")
    found = best["memory_sites"] if best else None
    if not best or not found or not limit:
        return []
    least_bytes = LEAST_DIFFERENCE * found["reference_bytes"]
    sites = [site for site in found["sites"] if abs(site["difference_bytes"]) >= least_bytes][:limit]
    when = f"At {units.duration(found['time_ns'])}, when {document['reference']} has most memory"
    whole = units.signed(found["difference_bytes"], "bytes")
    rest = f"{units.signed(found['unowned_difference_bytes'], 'bytes')} in pages without a block"
    none = "no call site differs by more than noise and 1 %"
    if not sites and abs(found["difference_bytes"]) <= max(found["noise_bytes"], least_bytes):
        return [f"{when}, {best['name']} has as much; {none}."]
    if not sites:
        return [f"{when}, {best['name']} has {whole}, {rest}; {none}."]
    these = _these(sites, found, "bytes")
    return [
        f"{when}, {best['name']} has {whole}: {rest}, and of the rest most at {these}:",
        *(_line(site, "bytes", units.counted(site["blocks"], "block")) for site in sites),
    ]


def about(document: Mapping[str, Any], limit: int) -> list[str]:
    """Both."""
    return [*about_times(document, limit), *about_memory(document, limit)]


def _line(site: Mapping[str, Any], unit: str, count: str) -> str:
    """unit: ns or bytes, as in the fields' names."""
    difference = units.signed(site[f"difference_{unit}"], unit)
    return f"  {difference} ± {units.number(site[f'noise_{unit}'], unit)}  {count}  {site['name']}"


def _between(names: str, best: Mapping[str, Any]) -> str:
    found, cpu = best["call_sites"], best["figures"].get(FIGURES[0].key)
    beside = f" (CPU time: {units.signed(cpu['difference'], 'ns')})" if cpu else ""
    if abs(found["difference_ns"]) <= found["noise_ns"]:
        return f"{names} take the same time in total{beside}; they differ"
    return f"the difference between {names} is {units.signed(found['difference_ns'], 'ns')}{beside};"


def _these(sites: Sequence[Mapping[str, Any]], found: Mapping[str, Any], unit: str) -> str:
    """With their share of the difference, unless other sites offset it."""
    word = "this call site" if len(sites) == 1 else f"these {len(sites)} call sites"
    together = sum(site["share"] for site in sites)
    is_part = abs(found[f"difference_{unit}"]) > found[f"noise_{unit}"] and 0 < together < 1.005
    return f"{word} ({100 * together:.0f} % of it)" if is_part else word


def _least(document: Mapping[str, Any], sites: str, key: str) -> Mapping[str, Any] | None:
    measured = [one for one in document["candidates"] if one[sites] and not one["failure"]]
    return min(measured, key=lambda candidate: float(candidate[sites][key]), default=None)
