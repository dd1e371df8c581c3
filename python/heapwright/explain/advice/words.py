# SPDX-License-Identifier: MIT
"""The advice as text."""

from __future__ import annotations

import shlex

from heapwright.explain import estimates, replayed
from heapwright.explain.advice.rule import LOW
from heapwright.explain.report import Answer, base_in_words
from heapwright.report import units, widgets

_MUCH = 0.1  # of the time
_NEAR = 1.5  # times what is reported at all: the next recording may have less
_LINT = "no rule knows this; `heapwright lint` looks at the source"


def gain(row: Answer, answer: Answer) -> str:
    """The bound in a few words; of a rule that sees only part of the gain, the bound of that part.

    answer: says what shares of time are of."""
    gains = []
    if row["gain_ns"]:
        part = f"{units.percent(row['time_share'])} of {base_in_words(answer)}"
        gains.append(f"{units.duration(row['gain_ns'])} ({part})")
    if row["gain_bytes"]:
        size = units.size(row["gain_bytes"])
        if "gain_bytes" in row.get("intervals", ()):
            size = estimates.shown(row, "gain_bytes", units.size)
        whole = "resident memory" if row["gain_is_resident"] else "the peak"
        gains.append(f"{size} ({units.percent(row['bytes_share'])} of {whole})")
    text = " and ".join(gains)
    return f"at most {text}{' of these calls, elsewhere unknown' if row['gain_is_least'] else ''}"


def stands(row: Answer) -> bool:
    """Whether the first screen may name it: of enough confidence, and not refuted by a replay."""
    return bool(row["confidence"] != LOW and row["judged"] != replayed.REFUTED)


def left(answer: Answer) -> str:
    """What became of changes that do not stand; empty without any."""
    refuted = _refuted(answer)
    low = [row["rule"] for row in answer["advice"] if row["judged"] != replayed.REFUTED and not stands(row)]
    texts = [f"a replay shows no gain by {'; '.join(refuted)}"] if refuted else []
    texts += [f"with little confidence: {', '.join(dict.fromkeys(low))}"] if low else []
    return "; ".join(texts)


def _refuted(answer: Answer) -> list[str]:
    """Rules and settings."""
    rows = [*answer["advice"], *answer["searched"]]
    names = (row.get("rule") or row["setting"] for row in rows if row["judged"] == replayed.REFUTED)
    return list(dict.fromkeys(names))


def measured(row: Answer) -> str:
    """What a replay of the change measured: time in the heap −31 %, peak as before; empty without one."""
    return replayed.in_words(row["replayed"])


def measured_briefly(row: Answer) -> str:
    """The same for the first screen."""
    return replayed.briefly(row["replayed"]) if row["judged"] == replayed.MEASURED else ""


def near(row: Answer, answer: Answer) -> str:
    """That the gain is hardly more than what is reported at all, as the end of a clause; or empty."""
    is_little_time = row["time_share"] < _NEAR * answer["least_time_share"]
    is_little = is_little_time and row["bytes_share"] < _NEAR * answer["least_bytes_share"]
    return ", hardly more than a run would show" if is_little else ""


def price(row: Answer) -> str:
    """The memory that a replay saw it take more, where it could not tell the gain."""
    more = replayed.more_memory(row["replayed"]) if row["judged"] == replayed.BOUND else ""
    return f", at a price, by replay: {more}" if more else ""


def owned(row: Answer) -> str:
    return f" (of {row['owner']}: for its owner)" if row["owner"] else ""


def setting(row: Answer) -> str:
    """A setting that a replay found to be better, with its figures."""
    return f"{row['setting']}: {replayed.in_words(row['replayed'])}"


def setting_briefly(row: Answer) -> str:
    """The same for the first screen."""
    return f"{row['setting']}: {replayed.briefly(row['replayed'])}"


def _tried(answer: Answer) -> str:
    """What was tried before nothing is said to be worth trying, or how to."""
    if doubtful := left(answer):
        is_tried = bool(_refuted(answer))
        begin = "no part or setting is worth trying" if is_tried else "no change is certain to gain anything"
        return f"{begin} ({doubtful})"
    return "no rule found anything (explain --check or heapwright replay FILE --search tries settings)"


def nothing(answer: Answer) -> str:
    """The sentence without advice; it differs if calls take much time, or faults could not be seen."""
    part = answer["allocator_share"]
    took = f"all heap calls took {units.percent(part)} of {base_in_words(answer)}, without the recorder's"
    below = answer["below"]
    if answer["durations_recorded"] and answer["unknown"]:
        text = f"{unknown(answer)}; {took}"
        text += f": {_LINT}" if part >= _MUCH and not below["changes"] else ""
    elif part >= _MUCH and not below["changes"]:
        doubtful = left(answer)
        text = f"no {f'certain gain ({doubtful})' if doubtful else 'advice'}, though {took}: {_LINT}"
    elif part >= _MUCH:
        text = f"no single change is worth trying, though {took}"
    else:
        text = _tried(answer)
        if answer["keeps_free_memory"]:
            text = "no advice on the calls, though free memory stays resident"
        text += f": {took}" if answer["durations_recorded"] else ""
    gains = _together(below, answer)
    if gains:
        together = "would" if below["changes"] == 1 else "together would"
        text += f"; {units.counted(below['changes'], 'change')} {together} gain at most {gains}"
        text += _largest(answer)
    return text


def _largest(answer: Answer) -> str:
    """The change that the next recording may find worth reporting, by name; or empty."""
    row = answer["largest_below"]
    is_near = (
        row["time_share"] * _NEAR >= answer["least_time_share"]
        or row["bytes_share"] * _NEAR >= answer["least_bytes_share"]
    )
    return f", {row['rule']} for {row['name']} the most of it" if is_near else ""


def unknown(answer: Answer) -> str:
    """Instead of "nothing": page faults may cost most of the time."""
    return f"the time to be gained is unknown: page faults could not be seen ({answer['unknown']})"


def _together(below: Answer, answer: Answer) -> str:
    gains = []
    if below["gain_ns"]:
        part = f"{units.percent(below['time_share'])} of {base_in_words(answer)}"
        gains.append(f"{units.duration(below['gain_ns'])} ({part})")
    if below["gain_bytes"]:
        gains.append(f"{units.size(below['gain_bytes'])} ({units.percent(below['bytes_share'])} of the peak)")
    if below["gain_resident_bytes"]:
        gains.append(f"{units.size(below['gain_resident_bytes'])} of resident memory")
    return " and ".join(gains)


def show(answer: Answer) -> widgets.RenderableType:
    """One paragraph each: the site, gain and evidence; each part's code only once."""
    parts: list[widgets.RenderableType] = []
    shown: set[str] = set()
    for number, row in enumerate(answer["advice"], 1):
        bound = "A bound on the calls, not a measurement" if row["gain_ns"] else "A bound"
        bound = "A bound on these calls alone, not a measurement" if row["gain_is_least"] else bound
        title = widgets.Text(f"{number}. {row['name']}", style="bold")
        rows = [
            ("seen", "; ".join((row["pattern"], *row["evidence"]))),
            ("do", f"{row['action']}{owned(row)}"),
            ("gain", f"{gain(row, answer)}: {row['what']}. {bound}"),
            ("confidence", f"{row['confidence']}: {row['why']}"),
            ("not if", "; ".join(row["when_not"])),
        ]
        if row["other_sites"]:
            rows.insert(
                1,
                ("with", ", ".join(row["other_sites"][:5]) + (", …" if len(row["other_sites"]) > 5 else "")),
            )
        if row["replayed"]:
            refuted = "refuted: " if row["judged"] == replayed.REFUTED else ""
            rows.insert(3, ("replay", f"{refuted}{measured(row)}"))
        elif row["replay_change"]:
            change = shlex.quote(row["replay_change"])
            rows.append(("measure it", f"heapwright replay FILE --change {change}"))
        elif row["replay_set"]:
            rows.append(("measure it", f"heapwright replay FILE --set {row['replay_set']}"))
        if row["page"]:
            rows.append(("part", row["page"]))
        parts += [title, widgets.Pairs([(f"   {name}", widgets.Text(text)) for name, text in rows])]
        if row["before"] and row["rule"] not in shown:
            shown.add(row["rule"])
            for name in ("before", "after"):
                lines = "\n".join(f"     {line}" for line in row[name].splitlines())
                parts += [widgets.Text(f"   {name}:", style="dim"), widgets.Text(lines)]
        parts.append(widgets.Text())
    for row in answer["searched"]:
        parts.append(widgets.Text(f"tried: {setting(row)}"))
    if not answer["advice"]:
        parts.append(widgets.Text(nothing(answer) if answer["is_whole"] else "none for the recorded part"))
    if answer["left_out"]:
        names = ", ".join(row["rule"] for row in answer["left_out"])
        parts.append(
            widgets.Text(f"these rules need a full recording, without --sample: {names}", style="dim")
        )
    floor = (
        f"reported from {units.percent(answer['least_time_share'])} of the run's time or "
        f"{units.percent(answer['least_bytes_share'])} of the peak"
    )
    parts.append(widgets.Text(floor, style="dim"))
    return widgets.Group(*parts)
