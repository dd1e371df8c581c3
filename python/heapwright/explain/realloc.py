# SPDX-License-Identifier: MIT
"""Which buffers grow by realloc, and how much is copied?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.report import units

NAME = "realloc"
TITLE = "Buffers that grow by realloc"


def answer(report: Report) -> Answer:
    """Chains of reallocs, by the site of the last one."""
    chains = sorted(report.facts.realloc_chains, key=lambda chain: (-chain.copied_bytes, -chain.steps))
    copied = sum(chain.copied_bytes for chain in chains)
    return {
        "chains": sum(chain.chains for chain in chains),
        "steps": sum(chain.steps for chain in chains),
        "copied_bytes": copied,
        "sites": [
            {
                **site_record(report.sites[chain.site]),
                "chains": chain.chains,
                "steps": chain.steps,
                "moved": chain.moved,
                "copied_bytes": chain.copied_bytes,
                "longest_steps": chain.longest_steps,
                "mean_final_bytes": chain.final_bytes // max(1, chain.chains),
                "moved_share": share(chain.moved, chain.steps),
            }
            for chain in chains[: report.top]
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Most copied bytes first."""
    return tables.by_site(
        answer,
        [
            ("copied", lambda site: units.size(site["copied_bytes"])),
            ("buffers", lambda site: units.count(site["chains"])),
            ("reallocs", lambda site: units.count(site["steps"])),
            ("moved", lambda site: units.percent(site["moved_share"], 1)),
            ("longest", lambda site: units.count(site["longest_steps"])),
            ("final", lambda site: units.size(site["mean_final_bytes"])),
        ],
    )


def findings(answer: Answer) -> list[Finding]:
    """Much copying by one site whose buffers grow in many steps."""
    for site in answer["sites"][:1]:
        if site["copied_bytes"] >= 16 << 20 and site["steps"] >= 4 * site["chains"]:
            text = f"realloc copied {units.size(site['copied_bytes'])} for buffers grown by {site['name']}"
            return [Finding(0.3, text, NAME)]
    return []
