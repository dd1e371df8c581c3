# SPDX-License-Identifier: MIT
"""The verdict on resident memory in words."""

from __future__ import annotations

import shlex

from heapwright.explain import replayed
from heapwright.explain.cause_kinds import EARLIER, FREE, LIVE, NAMES, OF_GLIBC, OTHERS
from heapwright.explain.remedy import GIVING_BACK, SETTINGS, TOGETHER
from heapwright.explain.report import Answer, Finding, share
from heapwright.explain.settings import ARENA_MAX
from heapwright.report import units, widgets

# Less free memory than this is not reported.
WORTH_BYTES = 1 << 20
WORTH_SHARE = 0.25
# Of a price: about the same.
_NEAR = 0.9
# Share of resident memory: a kind besides the cause that its size does not exclude.
PART = 0.1
# Share of what a site pins that is due to the alignment of its blocks.
_APART = 0.5


# Remedies that keep the allocator and take no more than a call.
_OWN = (*SETTINGS, "trim")
NOTHING = "nothing to fix: "
_MOSTLY = 0.5  # of what is resident
# Places it first on the first screen: above all shares.
_FIRST = 1.0


def sentence(answer: Answer) -> str:
    """The answer in one sentence, with its figures."""
    if not answer["kinds"]:
        return f"unknown: {answer['unknown_because']}"
    resident = units.size(answer["resident_bytes"])
    by_kind = {row["kind"]: row["bytes"] for row in answer["kinds"]}
    live = units.size(by_kind[LIVE])
    own = f", {units.size(answer['recorder_bytes'])} of it the recorder's" if answer["recorder_bytes"] else ""
    head = f"{resident} resident at {units.duration(answer['time_ns'])}{own}, {live} live"
    if answer["has_unseen_calls"]:
        return f"unknown: {head} of what was seen; {answer['unknown_because']}"
    free = units.size(answer["free_bytes"])
    match answer["verdict"]:
        case "unknown":
            return f"{head}: {_what_else(answer, by_kind)}at most {free} are free"
        case "fragmented":
            again = _taken_again(answer)
            return f"{head}: {free} are free, {_of_cause(answer, by_kind)}{again}; {_best(answer)}"
        case "rounding":
            return f"{head}, {units.size(by_kind['rounding'])} rounding and headers: smaller blocks cost most"
        case "elsewhere":
            return (
                f"{head}, {units.size(by_kind[OTHERS])} are outside the heap: {_evidence_of(answer, OTHERS)}"
            )
    brief = f" for {units.duration(answer['lasted_ns'])}" if answer["free_bytes"] >= WORTH_BYTES else ""
    if answer["ambiguous_bytes"] >= WORTH_BYTES:
        brief += f" (of blocks that changed meanwhile, at most {units.size(answer['ambiguous_bytes'])})"
    brief += _taken_again(answer)
    huge = of_huge_pages(answer)
    said = "" if huge else NOTHING
    return f"{said}{head}, {free} free{brief}, {units.size(by_kind[OTHERS])} outside the heap{huge}"


def _what_else(answer: Answer, by_kind: dict[str, int]) -> str:
    """What else there is where blocks from before are not known, as the begin of a clause."""
    if EARLIER not in by_kind:
        return f"of unknown kind: {answer['unknown_because']}; "
    earlier, others = (units.size(by_kind[kind]) for kind in (EARLIER, OTHERS))
    return (
        f"{earlier} more of the heap are blocks from before, or free memory among them; {others} are "
        f"outside the heap ({_evidence_of(answer, OTHERS)}); besides, "
    )


def of_huge_pages(answer: Answer) -> str:
    """That live memory may be resident only by huge pages, as the end of a sentence; "" = little is."""
    huge = answer["huge_bytes"]
    if huge < max(WORTH_BYTES, _MOSTLY * answer["resident_bytes"]):
        return ""
    return (
        f"; {units.size(huge)} are on huge pages, resident as a whole once any part is touched: at most that "
        "much less without them (prctl PR_SET_THP_DISABLE, or madvise MADV_NOHUGEPAGE)"
    )


def _taken_again(answer: Answer) -> str:
    again = answer["taken_again_bytes"]
    if again < WORTH_BYTES:
        return ""
    return f", of which {units.size(again)} are reused within {units.duration(answer['soon_ns'])}"


def _evidence_of(answer: Answer, kind: str) -> str:
    return next(str(row["evidence"]) for row in answer["kinds"] if row["kind"] == kind)


def _of_cause(answer: Answer, by_kind: dict[str, int]) -> str:
    cause = answer["cause"]
    size = units.size(by_kind[cause])
    if cause == "top":
        holders = answer["holders"][: answer["holding_sites"]]
        blocks = units.counted(sum(of["blocks"] for of in holders), "block")
        more = f" and {units.counted(len(holders) - 1, 'other site')}" if len(holders) > 1 else ""
        # Each includes those before it: with the last one, they hold enough.
        return f"{size} of it held by {blocks} from {holders[-1]['name']}{more}"
    if cause == "scattered" and answer["joint_bytes"]:
        together = units.size(min(answer["joint_bytes"], by_kind[cause]))
        first, *others = answer["joint_sites"]
        more = f"{first} and {units.counted(len(others), 'other site')}"
        return f"{size} of it beside live blocks, {together} by blocks of {more} together"
    if cause == "scattered" and answer["sites"]:
        site = answer["sites"][0]
        alone = units.size(min(site["pinned_bytes"], by_kind[cause]))  # headers are on its pages as well
        apart = site["aligned_bytes"] - site["usable_bytes"] >= _APART * site["pinned_bytes"] > 0
        why = ", whose blocks are spread by their alignment" if apart else ""
        return f"{size} of it beside live blocks, {alone} by {site['name']} alone{why}"
    return f"{size} of it {NAMES[cause]}"


def _best(answer: Answer) -> str:
    best = best_remedy(answer)
    if best is None:
        return _none(answer)
    how = f"by {best['what']}"
    if best["kind"] == "move":
        how = f"with {best['what']}"
        if answer["cause"] in ("top", "scattered"):
            _, together, setting = str(best["what"]).partition(f", {TOGETHER} ")
            how = f"if these had a private heap{together}{setting}"
            if answer["is_leak"]:
                how = f"if these were freed, which leak{together}{setting}"
    measured = f"; {replayed.briefly(best['replayed'])}" if best["judged"] == replayed.MEASURED else ""
    costs = "" if replayed.is_timed(best["replayed"]) else price(best)
    return f"{_gain(best)} less {how}{measured}{costs}"


def _none(answer: Answer) -> str:
    """Why no remedy is named: what returns memory costs time, or nothing does."""
    refuted = [one for one in answer["remedies"] if one["judged"] == replayed.REFUTED]
    at_a_price = [one for one in refuted if replayed.less_at_scan(one["replayed"]) > 0]
    if at_a_price:
        least_ns = min(replayed.more_time(one["replayed"]) for one in at_a_price)
        near = [one for one in at_a_price if _NEAR * replayed.more_time(one["replayed"]) <= least_ns]
        # A setting is tried at once, and keeps the allocator.
        best = max(near, key=lambda one: (one["kind"] != "allocator", replayed.less_at_scan(one["replayed"])))
        return f"what returns it costs time: {best['what']}; {replayed.briefly(best['replayed'])}"
    names = ", ".join(str(one["what"]) for one in refuted)
    refutes = f" (a replay refutes {names})" if refuted else ""
    asked = [
        one for one in answer["remedies"] if one["helps"] == "unknown" and one["judged"] == replayed.BOUND
    ]
    if own := [str(one["what"]) for one in asked if one["kind"] in _OWN]:
        return f"whether {' or '.join(own)} returns it is not known{refutes}"
    return f"no setting returns it{refutes}"


def price(remedy: Answer) -> str:
    """What it costs in time to give memory back or to share one heap, where no replay has measured it."""
    if remedy["kind"] == "arenas":
        return f"; costs time: {ARENA_MAX.price}"
    if remedy["kind"] not in GIVING_BACK:
        return ""
    if remedy["run_ns"] > remedy["again_ns"]:
        return f"; costs up to {units.duration(remedy['run_ns'])} of CPU time in a run like this"
    if not remedy["again_ns"]:
        return "; costs time where it is used again"
    return f"; costs up to {units.duration(remedy['again_ns'])} of CPU time each time all of it is used again"


def best_remedy(answer: Answer) -> Answer | None:
    """The first of the ranked list."""
    return next((one for one in answer["remedies"] if one["rank"] == 1), None)


def _gain(remedy: Answer) -> str:
    """The upper bound of what it returns, or what was measured."""
    if remedy["judged"] == replayed.MEASURED:
        return units.size(remedy["returns_bytes"])
    return f"at most {units.size(remedy['bytes'])}"


def evidence_in_words(answer: Answer) -> widgets.Pairs | None:
    """The evidence for the cause and against each other kind; None if the verdict names none.

    Kinds that only another allocator has are left out.
    """
    if not answer["cause"]:
        return None
    is_glibc = str(answer["allocator"]).startswith("glibc")
    others = {"kept"} if is_glibc else OF_GLIBC
    asked = [row for row in answer["kinds"] if row["kind"] in {*FREE, "rounding", OTHERS} - others]
    rows = [
        (
            ", ".join((_answer_of(answer, row), *([units.size(row["bytes"])] if row["bytes"] else []))),
            widgets.Text(f"{row['name']}: {row['evidence']}"),
        )
        for row in sorted(asked, key=lambda row: row["kind"] != answer["cause"])
        if row["evidence"]
    ]
    return widgets.Pairs(rows, style="bold")


def _answer_of(answer: Answer, row: Answer) -> str:
    if row["kind"] == answer["cause"]:
        return "the cause"
    if not row["bytes"]:
        return "none"
    return "in part" if share(row["bytes"], answer["resident_bytes"]) >= PART else "little"


def remedies_in_words(answer: Answer) -> widgets.Pairs | None:
    """Remedies that would help or not, each with its reason; None if there is nothing to fix."""
    rows: list[tuple[str, widgets.Text]] = []
    for one in answer["remedies"]:
        helps = "refuted" if one["judged"] == replayed.REFUTED else one["helps"]
        if one["judged"] == replayed.MEASURED and one["rank"] and helps == "unknown":
            helps = "yes"
        words = {"no": "no help", "partly": "helps in part", "yes": "helps"}.get(helps, helps)
        is_known = one["bytes"] is not None or one["judged"] == replayed.MEASURED
        size = f", {_gain(one)}" if is_known else ""
        rows.append((f"{words}{size}", widgets.Text(f"{one['what']}: {one['why']}{_tried(one)}")))
    return widgets.Pairs(rows, style="bold") if rows else None


def _tried(remedy: Answer) -> str:
    """What a replay measured, or how to measure it."""
    if remedy["replayed"]:
        return f"; {replayed.in_words(remedy['replayed'])}"
    if remedy["helps"] not in ("yes", "partly", "unknown"):
        return ""
    if remedy["replay_set"]:
        return f"; heapwright replay FILE --set {remedy['replay_set']} measures it"
    change = remedy["replay_change"]
    return f"; heapwright replay FILE --change {shlex.quote(change)} measures it" if change else ""


def findings(answer: Answer) -> list[Finding]:
    if answer["verdict"] in ("fragmented", "unknown") and answer["kinds"]:
        asked = answer["free_bytes"]
        if answer["has_unseen_calls"]:  # memory without an owner may belong to blocks that were not seen
            asked += next(row["bytes"] for row in answer["kinds"] if row["kind"] == OTHERS)
        part = share(asked, answer["resident_bytes"])
        is_much = asked >= WORTH_BYTES and part >= WORTH_SHARE
        if is_much or answer["verdict"] == "fragmented":
            return [Finding(_FIRST + part, sentence(answer))]
        return []
    if answer["verdict"] in ("rounding", "elsewhere"):
        row = next(row for row in answer["kinds"] if row["kind"] == answer["cause"])
        return [Finding(share(row["bytes"], answer["resident_bytes"]), sentence(answer))]
    return []


def title(answer: Answer) -> str:
    return f"Why it is resident: {sentence(answer)}"


def notes(answer: Answer) -> list[str]:
    if not answer["kinds"]:
        return []
    lines = [
        f"at {units.duration(answer['time_ns'])}, when most was free, ignoring teardown (about this much for "
        f"{units.duration(answer['lasted_ns'])}); {answer['allocator']}",
        "the kinds add up to resident memory; what a remedy returns is an upper bound at that moment",
    ]
    caches = answer["thread_caches_at_most_bytes"]
    if answer["free_bytes"] >= WORTH_BYTES:
        lines.append(
            f"thread caches hold at most {units.size(caches)} of the free memory"
            if caches >= 0
            else "how much of the free memory is in thread caches or about to be returned is not known"
        )
    if answer["sites"]:
        lines.append(
            "free beside: on pages that hold only the site's blocks; free below: before its last block, "
            "where the heap cannot shrink. A private heap gives the site's blocks pages of their own: it "
            "returns at least this if it stays as large as the site's peak, at most with the survivors packed"
        )
    return lines
