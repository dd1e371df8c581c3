# SPDX-License-Identifier: MIT
"""Changes proposed by a recording's advice, and what a replay measured of them."""

from __future__ import annotations

from pathlib import Path

from heapwright.cli.errors import InputError
from heapwright.cli.explanation import explain_trace_as_data
from heapwright.compare.advised import FIGURES as FIGURES_SAID
from heapwright.compare.advised import Advised
from heapwright.compare.replays.reading import ReplayFileError, read
from heapwright.explain import site_names
from heapwright.explain.replayed import ReplayedFigure
from heapwright.model import Trace
from heapwright.replay.figures import FIGURES


def advised_changes(trace: Trace) -> list[str]:
    """Changes for replay's --change, largest gain first. InputError if there are none."""
    answer = explain_trace_as_data(trace, "advice")
    found = [row["replay_change"] for row in answer["advice"] if row["replay_change"]]
    if not found:
        raise InputError(
            f"--advice: explain has no advice for {trace.path} that a replay can try; "
            "--change CHANGE@SITE tries any change"
        )
    return list(dict.fromkeys(found))


def advised(trace: Trace, replayed: Path | None) -> list[Advised]:
    """What explain advises, to compare with the measured result."""
    answer = explain_trace_as_data(trace, "advice", read_replayed(replayed, trace))
    numbers = {site_names.site_name(site): site.number for site in trace.sites()}
    return [
        Advised(
            row["rule"],
            row["name"],
            (row["site"], *(numbers[name] for name in row["other_sites"])),
            {gain: row[gain] for gain in FIGURES_SAID},
            row["gain_is_least"],
            row["replay_change"],
            row["replayed"],
        )
        for row in answer["advice"]
    ]


def read_replayed(file: Path | None, trace: Trace) -> dict[str, list[ReplayedFigure]]:
    """Results from replay --json: of each change on the recorded allocator, and of settings."""
    if file is None:
        return {}
    try:
        document = read(file)
    except OSError as error:
        raise InputError(f"--replayed {file}: {(error.strerror or str(error)).lower()}") from None
    except ReplayFileError as error:
        raise InputError(f"--replayed {error}") from None
    if document.program != trace.metadata.program:
        raise InputError(
            f"--replayed {file} is of {document.program or 'another program'}, this recording of "
            f"{trace.metadata.program or 'an unknown one'}"
        )
    if document.recording_start_unix_ns not in (0, trace.metadata.start_unix_ns):
        raise InputError(
            f"--replayed {file} is of another recording of {document.program}; "
            "heapwright replay FILE --advice --json makes one for this"
        )
    labels = {figure.key: figure for figure in FIGURES if figure.is_shown}
    found: dict[str, list[ReplayedFigure]] = {}
    for candidate in document.candidates.values():
        is_reference = candidate.name == document.reference  # with the recorded settings
        tried = candidate.change or ("" if is_reference else " ".join(candidate.variables))
        if not tried or tried in found:  # the first one is on the recorded allocator
            continue
        found[tried] = [
            ReplayedFigure(
                labels[key].label,
                labels[key].unit,
                one.difference,
                one.relative_difference,
                one.verdict,
                document.reference,
            )
            for key, one in candidate.figures.items()
            if key in labels
        ]
    return found
