# SPDX-License-Identifier: MIT
# length: one question, most of it its columns
"""The question: runs all rules, keeps what is worth reporting, and shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from heapwright.explain import cause, leak_signs, page_faults, replayed, site_names
from heapwright.explain.advice import (
    arena,
    arena_count,
    buffer_cache,
    built_again,
    built_once,
    copied,
    deferred_free,
    evidence,
    exact_growth,
    exit_policy,
    heap_steps,
    make_shared,
    node_pool,
    object_pool,
    private_heap,
    refaults,
    reserve,
    reused_buffer,
    setting,
    small_deque,
    small_vector,
    untouched_tails,
    words,
)
from heapwright.explain.advice.rule import CONFIDENCES, LOW, Advice, Rule
from heapwright.explain.question import Question
from heapwright.explain.report import CPU_NS, Answer, Finding, Report, share
from heapwright.report import units
from heapwright.report.columns import Choice, Column, Many, Table

# Of two rules with the same gain for one site, the first is shown.
RULES: tuple[Rule, ...] = tuple(
    module.RULE
    for module in (
        make_shared,
        small_deque,
        small_vector,
        node_pool,
        reused_buffer,
        exact_growth,
        reserve,
        arena,
        built_once,
        object_pool,
        buffer_cache,
        copied,
        built_again,
        exit_policy,
        deferred_free,
        refaults,
        setting,
        heap_steps,
        arena_count,
        private_heap,
        untouched_tails,
    )
)
_MOST_FINDINGS = 3
_MOST_OF_SETTING = 0.5  # of the time that a setting spares: code that spares as much comes first
_MEASURED = 0.9  # the weight of a setting that a replay found, above bounds
_REFUTED_BELOW = 0.5  # of a bound: it is an "at most", and more than half of it would be worth the change
# Of few words, which say more than the part's name.
_SAID_AT_ONCE = tuple(one.RULE.name for one in (refaults, exact_growth, built_again, copied, small_deque))


class Proposal(NamedTuple):
    """A rule's advice, with its shares of the whole."""

    rule: Rule
    advice: Advice
    time_share: float
    bytes_share: float
    owner: str
    is_cpp: bool
    other_sites: tuple[str, ...]
    replay_change: str
    replayed_figures: Sequence[replayed.ReplayedFigure]
    is_leak: bool = False

    @property
    def weight(self) -> float:
        return max(self.time_share, self.bytes_share)


class _Source:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.of = evidence.Evidence(report)
        whole = report.facts.completeness.is_complete and report.chosen.is_everything
        self.is_whole = whole and not self.of.is_sampled
        self.left_out = [rule for rule in RULES if rule.unsampled and self.of.is_sampled]
        found = proposals(self.of)
        worth = [
            proposal for proposal in found if self.of.is_worth(proposal.advice.time_ns, proposal.advice.bytes)
        ]
        known = _without_doubtful(report, worth)
        chosen = _code_before_settings(_one_a_site(known, self.of.time_ns))
        self.proposals = _dear_last(chosen)[: report.top]
        if any(proposal.rule is private_heap.RULE for proposal in self.proposals):
            leaks = leak_signs.likely(report)
            self.proposals = [
                one._replace(is_leak=one.rule is private_heap.RULE and leaks.issuperset(one.advice.sites))
                for one in self.proposals
            ]
        self.keeps_free_memory = cause.keeps_free_memory(report)
        self.below = [proposal for proposal in found if proposal not in worth]


def proposals(of: evidence.Evidence) -> list[Proposal]:
    """Advice of all rules, largest gain first, including gains too small to report."""
    asked = [rule for rule in RULES if not (rule.unsampled and of.is_sampled)]
    found = [_proposal(of, rule, advice) for rule in asked for advice in rule.find(of)]
    found = [proposal for proposal in found if proposal.is_cpp or proposal.rule.in_c]
    found.sort(key=lambda proposal: -proposal.weight)  # stable: the rules' order decides among equals
    return found


def _proposal(of: evidence.Evidence, rule: Rule, advice: Advice) -> Proposal:
    advice = advice._replace(time_ns=min(advice.time_ns, of.time_ns))  # preempted calls look long
    if of.is_sampled and not of.is_worth(0, of.least_of_samples(advice)):
        advice = advice._replace(
            confidence=LOW, why=f"{advice.why}; but the samples allow a gain too small to matter"
        )
    change = _replay_change(of, rule, advice)
    return Proposal(
        rule,
        advice,
        share(advice.time_ns, of.time_ns),
        share(advice.bytes, of.resident_bytes if rule.of_resident else of.peak_bytes),
        of.owner(advice.sites[0]),
        of.is_cpp(advice.sites[0]),
        tuple(map(of.name, advice.sites[1:])),
        change,
        of.report.replayed.get(change or advice.replay_set, ()),
    )


def _replay_change(of: evidence.Evidence, rule: Rule, advice: Advice) -> str:
    """The argument of replay --change: the sites by function and line."""
    if not rule.change or of.is_sampled:
        return ""
    selectors = dict.fromkeys(site_names.selector(of.report.sites[site]) for site in advice.sites)
    number = f":{advice.change_bytes}" if advice.change_bytes else ""
    return f"{rule.change}{number}@{','.join(selectors)}"


def _without_doubtful(report: Report, found: Sequence[Proposal]) -> list[Proposal]:
    """Without fewer arenas where the list of remedies for free memory says that these do not help, or that it
    is not known."""
    if not any(one.rule is arena_count.RULE for one in found):
        return list(found)
    arenas = [one for one in cause.remedies_of(report) if one.kind == "arenas"]
    is_doubtful = arenas and not arenas[0].rank
    return [one for one in found if not (is_doubtful and one.rule is arena_count.RULE)]


def _one_a_site(found: Sequence[Proposal], run_ns: float) -> list[Proposal]:
    """Each site appears once: with its largest gain that no replay refutes, of sufficient confidence if there
    is any."""
    kept: list[Proposal] = []
    claimed: set[int] = set()

    def is_doubtful(proposal: Proposal) -> bool:
        return proposal.advice.confidence == LOW or _judged_of(proposal, run_ns) == replayed.REFUTED

    # A setting mends these whether or not the copies are needed.
    taken_again = {
        site
        for one in found
        if one.rule is refaults.RULE and not is_doubtful(one)
        for site in one.advice.sites
    }
    for proposal in sorted(found, key=is_doubtful):
        if proposal.rule is copied.RULE and not taken_again.isdisjoint(proposal.advice.sites):
            continue
        if proposal.rule.stands_beside:
            kept.append(proposal)
        elif proposal.advice.sites[0] not in claimed:
            kept.append(proposal)
            claimed.update(proposal.advice.sites)
    return kept


def _code_before_settings(found: Sequence[Proposal]) -> list[Proposal]:
    """A change of the code that spares most of the calls at a site stands before the setting that only makes
    them cheaper."""
    order = list(found)
    for code in found:
        if code.advice.replay_set or code.advice.confidence == LOW:
            continue
        cheaper = [
            one
            for one in order[: order.index(code)]
            if one.advice.replay_set
            and code.advice.sites[0] in one.advice.sites
            and code.advice.time_ns >= _MOST_OF_SETTING * one.advice.time_ns
            and not _is_only_setting_measured(one, code)
        ]
        if cheaper:
            order.remove(code)
            order.insert(order.index(cheaper[0]), code)
    return order


def _dear_last(found: Sequence[Proposal]) -> list[Proposal]:
    """What takes several times the memory, by a replay, is named after what does not."""
    return sorted(found, key=lambda one: replayed.is_dear(replayed.records(one.replayed_figures)))


def _is_only_setting_measured(setting: Proposal, code: Proposal) -> bool:
    """Whether a replay of both found that the setting spares time, and not that the code does."""
    if not code.replayed_figures:
        return False
    return _measured_ns(code) < _MOST_OF_SETTING * _measured_ns(setting)


def _measured_ns(proposal: Proposal) -> float:
    spared = (
        -one.difference for one in proposal.replayed_figures if one.unit == "ns" and one.verdict == "better"
    )
    return max(spared, default=0.0)


def _part(proposal: Proposal, _: Any = None) -> str:
    return proposal.rule.part if proposal.advice.part is None else proposal.advice.part


def _action(proposal: Proposal) -> str:
    if proposal.advice.action:
        return proposal.advice.action
    return proposal.rule.action if proposal.is_cpp or not proposal.rule.in_c else proposal.rule.in_c


def _when_not(proposal: Proposal) -> list[str]:
    return [*filter(None, [proposal.advice.not_if]), *proposal.rule.when_not]


def _of_advice(field: str) -> Any:
    return lambda proposal, _: getattr(proposal.advice, field)


def _of_rule(field: str) -> Any:
    return lambda proposal, _: getattr(proposal.rule, field)


def _searched(source: _Source, _: Answer) -> list[Answer]:
    """Best first: each is asked for any gain that would be reported of a rule."""
    of = source.of
    found = []
    for name, figures in source.report.searched.items():
        rows = replayed.records(figures)
        least = (
            max(evidence.LEAST_TIME_NS, evidence.LEAST_TIME_SHARE * of.time_ns),
            max(evidence.LEAST_BYTES, evidence.LEAST_BYTES_SHARE * of.peak_bytes),
        )
        found.append({"setting": name, "judged": _judged_setting(rows, least, of.time_ns), "replayed": rows})
    return sorted(found, key=lambda row: _least_difference(row["replayed"]))


def _judged_setting(rows: Sequence[Answer], least: tuple[float, float], run_ns: float) -> str:
    """Only a gain that would be reported counts, and none whose time is not known."""
    least_of = dict(zip(("ns", "bytes"), least, strict=True))
    asked = [row for row in rows if row["verdict"] != "better" or -row["difference"] >= least_of[row["unit"]]]
    judged = replayed.judgement(asked, *least, run_ns)
    is_timed = any(row["unit"] == "ns" and row["verdict"] != "unknown" for row in asked)
    return replayed.BOUND if judged == replayed.MEASURED and not is_timed else judged


def _least_difference(rows: Sequence[Answer]) -> float:
    """Below 0: the largest gain, as a share."""
    return min((row["relative_difference"] for row in rows if row["verdict"] == "better"), default=0.0)


def _judged(proposal: Proposal, around: Answer) -> str:
    return _judged_of(proposal, around["run_ns"])


def _judged_of(proposal: Proposal, run_ns: float) -> str:
    figures = replayed.records(proposal.replayed_figures)
    if proposal.rule.of_resident:
        figures = replayed.at_scan(figures)
    advice = proposal.advice
    return replayed.judgement(figures, advice.time_ns, advice.bytes, run_ns, _REFUTED_BELOW)


def _findings(answer: Answer) -> list[Finding]:
    """The largest gains of sufficient confidence; or that there are none."""
    found: list[Finding] = []
    for row in answer["advice"]:
        if row["is_leak"]:
            continue
        if words.stands(row) and len(found) < _MOST_FINDINGS:
            gain = words.measured_briefly(row) or _bound(row, answer)
            text = f"{row['name']}: {row['pattern']}; {gain}{words.owned(row)}"
            parts = (row["part"],) if row["part"] and row["page"] else ()
            # A finding says what to do.
            text += f"; {row['action']}" if row["rule"] in _SAID_AT_ONCE or not parts else ""
            weight = min(1.0, 0.2 + max(row["time_share"], row["bytes_share"]))
            # In the order of the rows.
            weight = min([weight, *(one.weight for one in found)])
            found.append(Finding(weight, text, parts=parts))
    best = next((row for row in answer["searched"] if row["judged"] == replayed.MEASURED), None)
    if best:
        found.append(Finding(_MEASURED, words.setting_briefly(best)))
    elif not any(map(words.stands, answer["advice"])) and answer["is_whole"]:
        found.append(Finding(0.15, words.nothing(answer), is_nothing=True))
    elif answer["unknown"]:
        found.append(Finding(0.15, words.unknown(answer), is_nothing=True))
    return found


def _bound(row: Answer, answer: Answer) -> str:
    return f"to gain: {words.gain(row, answer)}{words.near(row, answer)}{words.price(row)}"


def _gist(answer: Answer) -> str:
    standing = list(filter(words.stands, answer["advice"]))
    for row in standing[:1]:
        changes = units.counted(len(standing), "change")
        return f"{changes} to try; {row['rule']} for {row['name']}: {words.gain(row, answer)}"
    if answer["advice"]:
        return words.left(answer)
    return "no rule found anything" if answer["is_whole"] else ""


def _largest_below(source: _Source, _: Answer) -> Answer:
    found = source.below[0] if source.below else None
    return {
        "rule": found.rule.name if found else "",
        "name": source.of.name(found.advice.sites[0]) if found else "",
        "gain_ns": found.advice.time_ns if found else 0,
        "time_share": found.time_share if found else 0.0,
        "gain_bytes": found.advice.bytes if found else 0,
        "bytes_share": found.bytes_share if found else 0.0,
        "gain_is_resident": bool(found and found.rule.of_resident),
        "gain_is_least": bool(found and found.rule.is_least),
    }


def _below(source: _Source, _: Answer) -> Answer:
    """All changes below the floor together: each site once, and never more than there is."""
    of = source.of
    found = _one_a_site(source.below, of.time_ns)
    most_ns = min(of.facts.totals.allocator_ns + page_faults.outside_calls_ns(of.report), of.time_ns)
    time_ns = min(sum(one.advice.time_ns for one in found), most_ns)
    in_peak = [one.advice.bytes for one in found if not one.rule.of_resident]
    in_resident = [one.advice.bytes for one in found if one.rule.of_resident]
    count_bytes = min(sum(in_peak), of.peak_bytes)
    return {
        "rules": list(dict.fromkeys(one.rule.name for one in found)),
        "changes": len(found),
        "gain_ns": time_ns,
        "time_share": share(time_ns, of.time_ns),
        "gain_bytes": count_bytes,
        "bytes_share": share(count_bytes, of.peak_bytes),
        "gain_resident_bytes": min(max(in_resident, default=0), of.resident_bytes),
    }


def _rows(source: _Source) -> list[tuple[Any, Proposal]]:
    return [(source.report.sites[proposal.advice.sites[0]], proposal) for proposal in source.proposals]


QUESTION = Question(
    "advice",
    "What a change would gain at most",
    (
        Column("durations_recorded", "flag", value=lambda source, _: source.of.has_times),
        Column(
            "is_whole",
            "flag",
            value=lambda source, _: source.is_whole,
            about="Every call was analyzed, so the absence of advice is meaningful.",
        ),
        Column(
            "run_ns",
            "ns",
            value="of.time_ns",
            about="The process's CPU time without the recorder's; where that is not known, the lifetimes of "
            "the calling threads.",
        ),
        CPU_NS._replace(value="report.cpu_ns"),
        Column("peak_bytes", "bytes", value="of.peak_bytes", about="Usable."),
        Column(
            "keeps_free_memory",
            "flag",
            about="Free memory stays resident: see the question cause.",
        ),
        Column(
            "allocator_share",
            "share",
            value=lambda source, _: share(
                source.of.facts.totals.allocator_ns if source.of.has_times else 0, source.of.time_ns
            ),
        ),
        Column(
            "searched",
            Many(
                (
                    Column("setting", "text"),
                    Column("judged", Choice(replayed.JUDGEMENTS)),
                    Column("replayed", Many(replayed.COLUMNS)),
                )
            ),
            value=_searched,
            about="Settings that a replay tried where it could try no remedy of a rule (--check).",
        ),
        Column("least_time_share", "share", value=lambda _source, _: evidence.LEAST_TIME_SHARE),
        Column("least_bytes_share", "share", value=lambda _source, _: evidence.LEAST_BYTES_SHARE),
        Column(
            "largest_below",
            (
                Column("rule", "text"),
                Column("name", "text"),
                Column("gain_ns", "ns"),
                Column("time_share", "share"),
                Column("gain_bytes", "bytes"),
                Column("bytes_share", "share"),
                Column("gain_is_resident", "flag"),
                Column("gain_is_least", "flag"),
            ),
            value=_largest_below,
            about='The largest one of `below`; rule "" = none.',
        ),
        Column(
            "below",
            (
                Column("rules", Many("text")),
                Column("changes"),
                Column("gain_ns", "ns"),
                Column("time_share", "share"),
                Column("gain_bytes", "bytes"),
                Column("bytes_share", "share"),
                Column("gain_resident_bytes", "bytes", about="Of the one with most; not in gain_bytes."),
            ),
            value=_below,
            about="The sum of the changes whose gains are below the least shares, at most all there is; "
            "0 changes: no rule found any.",
        ),
        Column(
            "unknown",
            "text",
            value=lambda source, _: page_faults.not_seen(source.report) if source.of.has_times else "",
            about='Why the time that page faults cost is not known; "" = it is.',
        ),
        Column(
            "left_out",
            Many((Column("rule", "text"), Column("why", "text"))),
            value=lambda source, _: [{"rule": rule.name, "why": rule.unsampled} for rule in source.left_out],
        ),
    ),
    (
        Table(
            "advice",
            (
                Column("rule", "text", value=_of_rule("name")),
                Column("part", "text", value=_part, about='A part from docs/parts; "" = none.'),
                Column("pattern", "text", value=_of_advice("pattern")),
                Column("evidence", Many("text"), value=lambda proposal, _: list(proposal.advice.evidence)),
                Column("other_sites", Many("text"), value=lambda proposal, _: list(proposal.other_sites)),
                Column("action", "text", value=lambda proposal, _: _action(proposal)),
                Column(
                    "replay_change",
                    "text",
                    about='Measure it: heapwright replay FILE --change …; "" = a replay cannot try it.',
                ),
                Column(
                    "replay_set",
                    "text",
                    value=_of_advice("replay_set"),
                    about='Measure it: heapwright replay FILE --set …; "" = none.',
                ),
                Column(
                    "replayed",
                    Many(replayed.COLUMNS),
                    value=lambda proposal, _: replayed.records(proposal.replayed_figures),
                    about="What a replay measured, if one was given (--replayed) or made (--check).",
                ),
                Column(
                    "judged",
                    Choice(replayed.JUDGEMENTS),
                    value=_judged,
                    about="Whether that confirms the gain, refutes it, or the gain is only a bound.",
                ),
                Column(
                    "gain_ns", "ns", value=_of_advice("time_ns"), about="At most; 0 = none, or not known."
                ),
                Column("time_share", "share"),
                Column(
                    "gain_bytes",
                    "bytes",
                    value=_of_advice("bytes"),
                    sampled="gain_bytes",
                    about="At most; 0 = none, or not known.",
                ),
                Column(
                    "gain_bytes_each",
                    "number",
                    value=_of_advice("bytes_each"),
                    about="gain_bytes for each block of the site at the peak; 0 = not per block.",
                ),
                Column("bytes_share", "share", about="Share of the peak, or of resident memory."),
                Column(
                    "gain_is_resident",
                    "flag",
                    value=_of_rule("of_resident"),
                    about="gain_bytes is resident memory at the scan with the most free memory.",
                ),
                Column(
                    "gain_is_least",
                    "flag",
                    value=_of_rule("is_least"),
                    about="The gains are part of the effect, not an upper bound.",
                ),
                Column(
                    "what", "text", value=_of_advice("what"), about="Which time and bytes the bound covers."
                ),
                Column("confidence", Choice(CONFIDENCES), value=_of_advice("confidence")),
                Column(
                    "is_leak",
                    "flag",
                    about="Its blocks show signs of a leak; the finding of the question leaks tells of both.",
                ),
                Column("why", "text", value=_of_advice("why")),
                Column("when_not", Many("text"), value=lambda proposal, _: _when_not(proposal)),
                Column(
                    "owner",
                    "text",
                    about='The system library that contains the site; "" = the program or its libraries.',
                ),
                Column(
                    "page",
                    "text",
                    value=lambda proposal, _: (
                        f"docs/parts/{_part(proposal)}.md" if _part(proposal) and proposal.is_cpp else ""
                    ),
                ),
                Column(
                    "before",
                    "text",
                    value=lambda of, _: of.rule.before if of.is_cpp else "",
                ),
                Column("after", "text", value=lambda of, _: of.rule.after if of.is_cpp else ""),
            ),
            _rows,
            of_sites=True,
            about="Largest gain first. Gains are bounds from the recorded figures; they do not add up.",
        ),
    ),
    prepare=_Source,
    findings=_findings,
    show=words.show,
    gist=_gist,
)
