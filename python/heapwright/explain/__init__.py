# SPDX-License-Identifier: MIT
"""Explains a trace: one module per question, each with its answer as data and for people."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from heapwright.explain import (
    calls,
    cross_thread,
    details,
    estimates,
    latency,
    leaks,
    lifetimes,
    look,
    mappings,
    overhead,
    peak,
    phases,
    pools,
    realloc,
    recorder,
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
from heapwright.explain.report import Answer, Report
from heapwright.model.extras import MissingPackageError

SCHEMA = "heapwright.explain/1"

QUESTIONS: tuple[ModuleType, ...] = (
    timeline,
    peak,
    leaks,
    volume,
    calls,
    temporaries,
    time,
    latency,
    slow_calls,
    sizes,
    lifetimes,
    overhead,
    mappings,
    realloc,
    cross_thread,
    threads,
    phases,
    pools,
    recorder,
)
NAMES: tuple[str, ...] = tuple(question.NAME for question in QUESTIONS)


def explain(report: Report, names: Sequence[str] = NAMES, shown: tree.Wanted | None = None) -> Answer:
    """The whole document: summary, the answers to the named questions, and the tree if one is wanted."""
    answers, missing = _answers(report)
    for name, answer in answers.items():
        details.complete(report, name, answer)
    findings = [
        finding
        for question in QUESTIONS
        if "not_answered" not in answers.get(question.NAME, {"not_answered": ""})
        for finding in question.findings(answers[question.NAME])
    ]
    for name, answer in answers.items():
        estimates.complete(report, name, answer)
    first = summary.answer(report, findings)
    first["notes"] += missing
    return {
        "schema": SCHEMA,
        "file": report.trace.path,
        "summary": first,
        "questions": {name: answers[name] for name in answers if name in names},
        **({"tree": tree.answer(report, shown)} if shown else {}),
    }


def _answers(report: Report) -> tuple[dict[str, Answer], list[str]]:
    """What can be answered with the packages that are installed, and a line for what cannot."""
    answers: dict[str, Answer] = {}
    missing = []
    for question in QUESTIONS:
        try:
            answers[question.NAME] = _answer(question, report)
        except MissingPackageError as error:
            missing.append(f"{question.TITLE} [{question.NAME}] left out: {error}")
    return answers, missing


def _answer(question: ModuleType, report: Report) -> Answer:
    if report.facts.spreads is not None and question.NAME in estimates.NOT_ANSWERED:
        return {"not_answered": estimates.NOT_ANSWERED[question.NAME]}
    answer: Answer = question.answer(report)
    return answer


def render(document: Answer, console: look.Console) -> None:
    """Prints the document for people."""
    if "tree" in document and not document["questions"]:
        console.print(summary.show_heading(document["summary"]))
    else:
        console.print(summary.show(document["summary"]))
    for question in QUESTIONS:
        answer = document["questions"].get(question.NAME)
        shown = _shown(question, answer, document) if answer is not None else None
        if shown is None:
            continue
        console.print()
        titled = hasattr(question, "title") and "not_answered" not in answer
        title = question.title(answer) if titled else question.TITLE
        console.print(look.Text(title, style="bold"), look.Text(f"[{question.NAME}]", style="dim"))
        console.print(shown)
    if "tree" in document:
        console.print()
        console.print(tree.show(document["tree"]))


def _shown(question: ModuleType, answer: Answer, document: Answer) -> look.RenderableType | None:
    is_sampled = document["summary"]["sample_mean_bytes"] != 0
    shown = estimates.show(question.NAME, answer) if is_sampled else None
    return shown if shown is not None else question.show(answer)


__all__ = ["NAMES", "QUESTIONS", "SCHEMA", "Report", "explain", "render"]
