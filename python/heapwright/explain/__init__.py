# SPDX-License-Identifier: MIT
"""Explains a trace: one module per question, each with its answer as data and as text."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.explain import (
    advice,
    calls,
    cause,
    cross_thread,
    details,
    estimates,
    first_screen,
    growth,
    held,
    latency,
    leaks,
    lifetimes,
    mappings,
    overhead,
    page_faults,
    peak,
    phases,
    pools,
    realloc,
    recorder,
    residency,
    screen,
    site_types,
    sizes,
    slow_calls,
    summary,
    temporaries,
    threads,
    time,
    timeline,
    tree,
    volume,
)
from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report
from heapwright.model.extras import MissingPackageError
from heapwright.report import widgets

SCHEMA = "heapwright.explain/1"

QUESTIONS: tuple[Question, ...] = tuple(
    module.QUESTION
    for module in (
        timeline,
        peak,
        cause,
        residency,
        leaks,
        held,
        growth,
        volume,
        calls,
        temporaries,
        time,
        latency,
        slow_calls,
        page_faults,
        sizes,
        lifetimes,
        overhead,
        mappings,
        realloc,
        cross_thread,
        threads,
        phases,
        pools,
        advice,
        recorder,
    )
)
NAMES: tuple[str, ...] = tuple(question.name for question in QUESTIONS)


def explain(report: Report, names: Sequence[str] = NAMES, shown: tree.Wanted | None = None) -> Answer:
    """The whole document: summary, answers to the named questions, and the tree if requested."""
    # What other questions advise is about code.
    found, missing = _answers(report, names if report.sites.is_no_code else NAMES)
    answered = [question for question in QUESTIONS if question.name in found]
    sites = {row["site"] for answer in found.values() for row in answer.get("sites", ())}
    types = site_types.SiteTypes(report, sites)
    for question in answered:
        details.complete(report, question.paths, found[question.name], types)
    findings = [
        finding._replace(question=question.name)
        for question in answered
        if "not_answered" not in found[question.name]
        for finding in question.findings(found[question.name])
    ]
    for question in answered:
        estimates.complete(report, question, found[question.name])
    first = summary.answer(report, findings)
    first["notes"] += missing
    return {
        "schema": SCHEMA,
        "file": report.trace.path,
        "summary": first,
        "questions": {name: found[name] for name in found if name in names},
        **({"tree": tree.answer(report, shown)} if shown else {}),
    }


def answers(report: Report, names: Sequence[str]) -> dict[str, Answer]:
    """These questions' answers alone, without names of sites and stacks."""
    return {question.name: question.answer(report) for question in QUESTIONS if question.name in names}


def _answers(report: Report, names: Sequence[str]) -> tuple[dict[str, Answer], list[str]]:
    """Those questions that the installed packages can answer, and a line for each that they cannot."""
    found: dict[str, Answer] = {}
    missing = []
    for question in QUESTIONS:
        if question.name not in names:
            continue
        try:
            found[question.name] = question.answer(report)
        except MissingPackageError as error:
            missing.append(f"{question.title} [{question.name}] left out: {error}")
    return found, missing


def render(document: Answer, console: widgets.Console) -> None:
    """Prints the whole document as text."""
    first = document["summary"]
    is_tree_alone = "tree" in document and not document["questions"]
    console.print(first_screen.show_heading(first) if is_tree_alone else first_screen.show(first))
    is_chosen = len(document["questions"]) < len(QUESTIONS)
    for question in QUESTIONS:
        answer = document["questions"].get(question.name)
        shown = question.shown(answer, first["sample_mean_bytes"] != 0) if answer is not None else None
        if shown is None and answer is not None and is_chosen:
            shown = widgets.Text(question.if_nothing, style="dim")
        if shown is None:
            continue
        console.print()
        heading = widgets.Text(question.heading(answer), style="bold")
        console.print(heading, widgets.Text(f"[{question.name}]", style="dim"))
        console.print(shown)
    if "tree" in document:
        console.print()
        console.print(tree.show(document["tree"]))


def render_screen(document: Answer, console: widgets.Console, rows: int | None = None) -> None:
    """Prints what of the document fits one screen. rows: of each table, if asked for."""
    screen.render(document, QUESTIONS, console, rows)


__all__ = ["NAMES", "QUESTIONS", "SCHEMA", "Report", "answers", "explain", "render", "render_screen"]
