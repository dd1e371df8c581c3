# SPDX-License-Identifier: MIT
"""Lint's findings as plain data: heapwright.lint/1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from heapwright.explain.growth_kinds import KINDS as GROWTHS
from heapwright.explain.report import share
from heapwright.lint.checks.kinds import CHECKS, STOCK
from heapwright.lint.expression import OWNERS
from heapwright.lint.finding import Finding, Fix
from heapwright.lint.kinds import RECORDED, rule_id
from heapwright.lint.recorded import REASONS, Looked
from heapwright.report.columns import Choice, Column, Many, Record, Table, record

SCHEMA = "heapwright.lint/1"
ALL_KINDS = {kind.name: kind for kind in (*RECORDED, *CHECKS, *STOCK)}
RULES = tuple(kind.rule_id for kind in ALL_KINDS.values())
_PAGES = {
    **{kind.name: "docs/lint.md#what-it-finds-in-a-recording" for kind in RECORDED},
    **{kind.name: f"docs/lint-checks.md#{kind.rule_id}" for kind in CHECKS},
    **{kind.name: "docs/lint-checks.md#clang-tidys-own-checks" for kind in STOCK},
}


class Linted(NamedTuple):
    """What was checked, and the reported findings. looked: None without a recording. fixed: fingerprints of
    findings whose edits are now in the sources. has_errors: some files could not be parsed correctly."""

    recording: str
    program: str
    folder: str
    looked: Looked | None
    findings: Sequence[Finding]
    hidden: dict[str, int]
    notes: Sequence[str]
    is_sampled: bool
    fixed: frozenset[str] = frozenset()
    has_errors: bool = False


def page(kind: str) -> str:
    """The page that explains a kind, in the documents that come with the sources."""
    return _PAGES[kind]


class _Row(NamedTuple):
    finding: Finding
    looked: Looked | None
    is_fixed: bool


def _cost(name: str) -> Any:
    def value(row: _Row, _: Record) -> int:
        return int(getattr(row.finding.costs, name)) if row.finding.costs else 0

    return value


def _of(name: str) -> Any:
    return lambda row, _: getattr(row.finding, name)


def _fix(row: _Row, _: Record) -> Record | None:
    fix: Fix | None = row.finding.fix
    return record(FIX, fix, {}) if fix else None


def _growing(row: _Row, _: Record) -> Record | None:
    return record(GROWING, row.finding.growing, {}) if row.finding.growing else None


def _share_of_allocations(row: _Row, _: Record) -> float:
    costs, looked = row.finding.costs, row.looked
    return share(costs.allocations, looked.allocations) if costs and looked else 0.0


FIX = (
    Column("begin_line", "count"),
    Column("begin_column", "count"),
    Column("end_line", "count"),
    Column("end_column", "count", about="The column after the last character."),
    Column("old", "text", about="The text expected there."),
    Column("text", "text", about="The replacement."),
)
GROWING = (
    Column("kind", Choice(GROWTHS), about="From explain's question growth."),
    Column("bytes_per_s", "count", about="At the end; 0: not certain."),
    Column("grown_bytes", "bytes", about="From begin to end."),
    Column("blocks_at_end", "count"),
    Column("mean_bytes_at_begin", "bytes", about="Of a block."),
    Column("mean_bytes_at_end", "bytes"),
)
FINDING = (
    Column("id", "text", value=_of("fingerprint"), about="Stays the same while its line and function do."),
    Column("rule", Choice(RULES), value=lambda row, _: rule_id(row.finding.kind)),
    Column("file", "text", value=_of("file"), about="Relative to the folder of the sources."),
    Column("line", "count", value=_of("line")),
    Column("column", "count", value=_of("column")),
    Column("function", "text", value=_of("function")),
    Column(
        "expression",
        "text",
        value=_of("expression"),
        about="What allocates; empty if the sources do not show it.",
    ),
    Column("type", "text", value=_of("type_name")),
    Column("what", "text", value=lambda row, _: row.finding.message or ALL_KINDS[row.finding.kind].what),
    Column("owner", Choice(OWNERS), value="finding.owner.kind", about="The owner of what it makes."),
    Column("owner_name", "text", value="finding.owner.name"),
    Column("is_in_loop", "flag", value=_of("is_in_loop")),
    Column(
        "is_exact",
        "flag",
        value=_of("is_exact"),
        about="Source and recording name the same function; otherwise it is the best match for the blocks.",
    ),
    Column(
        "calls", "text", value=_of("callee"), about="The function called on the line; empty: the allocator."
    ),
    Column("called_from", Many("text"), value=lambda row, _: list(row.finding.callers)),
    Column("allocations", "count", value=_cost("allocations")),
    Column("share", "share", value=_share_of_allocations, about="Of all recorded allocations."),
    Column("bytes", "bytes", value=_cost("bytes")),
    Column("time_ns", "ns", value=_cost("time_ns"), about="Of the calls and frees; 0: not known."),
    Column("freed", "count", value=_cost("freed")),
    Column("temporaries", "count", value=_cost("temporaries"), about="Freed by the next call."),
    Column("lifetime_ns", "ns", value=_cost("lifetime_ns"), about="Mean of the freed ones."),
    Column("live_at_peak_bytes", "bytes", value=_cost("live_at_peak_bytes")),
    Column("live_at_end_blocks", "count", value=_cost("live_at_end_blocks")),
    Column("live_at_end_bytes", "bytes", value=_cost("live_at_end_bytes")),
    Column("pinned_bytes", "bytes", value=_cost("pinned_bytes")),
    Column(
        "other_lines",
        Many("text"),
        value=lambda row, _: list(row.finding.others),
        about="For a member: further lines where it grows; the figures cover all.",
    ),
    Column("growing", "growing", value=_growing, about="null: no certain growth."),
    Column("action", "text", value="finding.remedy.action"),
    Column("part", "text", value="finding.remedy.part", about="A part from docs/parts; empty: none."),
    Column("advice", "text", value="finding.remedy.rule", about="The rule of explain that advises it."),
    Column("gain_ns", "ns", value="finding.remedy.time_ns", about="At most; 0: none, or not known."),
    Column("gain_time_share", "share", value="finding.remedy.time_share"),
    Column("gain_bytes", "bytes", value="finding.remedy.bytes", about="At most; 0: none, or not known."),
    Column("gain_bytes_share", "share", value="finding.remedy.bytes_share"),
    Column("gain_is_of", "text", value="finding.remedy.what"),
    Column("replay_change", "text", value="finding.remedy.replay_change"),
    Column("when_not", "text", value="finding.remedy.when_not"),
    Column(
        "page", "text", value=lambda row, _: page(row.finding.kind), about="The page that explains the rule."
    ),
    Column("fix", "fix", value=_fix, about="The edit; null: none is known to be correct."),
    Column("is_fixed", "flag", value="is_fixed", about="--fix applied that edit."),
)
FINDINGS = Table("findings", FINDING, lambda linted: linted, about="Most first.")
REASON = (
    Column("reason", Choice(REASONS)),
    Column("allocations", "count"),
    Column("where", Many("text"), value=lambda reason, _: list(reason.where)),
)
COVERAGE = (
    Column("allocations", "count", about="All that were recorded."),
    Column("explained", "count", about="Of these, allocations at a named expression."),
    Column("explained_share", "share", value=lambda looked, _: share(looked.explained, looked.allocations)),
    Column("bytes", "bytes"),
    Column("explained_bytes", "bytes"),
    Column("lines", "count", about="Lines that explain them."),
    Column("files", "count", about="Parsed files."),
    Column(
        "not_explained",
        Many(REASON),
        value=lambda looked, _: [record(REASON, reason, {}) for reason in looked.reasons],
    ),
)


def _coverage(linted: Linted, _: Record) -> Record | None:
    return record(COVERAGE, linted.looked, {}) if linted.looked else None


DOCUMENT = (
    Column("recording", "text", about="Empty: none."),
    Column("program", "text"),
    Column("sources", "text", value="folder"),
    Column("is_sampled", "flag", about="Figures are estimates."),
    Column("coverage", "coverage", value=_coverage, about="null: without a recording."),
    Column(
        "hidden",
        (Column("nolint"), Column("baseline"), Column("unchanged")),
        value=lambda linted, _: dict(linted.hidden),
        about="Findings not shown.",
    ),
    Column("notes", Many("text"), value=lambda linted, _: list(linted.notes)),
)


def make(linted: Linted) -> dict[str, Any]:
    """The document."""
    return {
        "schema": SCHEMA,
        **record(DOCUMENT, linted, {}),
        "findings": [
            record(FINDING, _Row(one, linted.looked, one.fingerprint in linted.fixed), {})
            for one in linted.findings
        ],
    }
