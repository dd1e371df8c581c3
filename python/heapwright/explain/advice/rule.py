# SPDX-License-Identifier: MIT
"""Rules and their advice."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

HIGH, MEDIUM, LOW = "high", "medium", "low"
CONFIDENCES = (HIGH, MEDIUM, LOW)


class Advice(NamedTuple):
    """One piece of advice.

    sites: by number, largest gain first.
    pattern: what was found, with figures, as the end of a sentence that begins with the site.
    time_ns, bytes: upper bounds of the gain; 0 = none, or not known.
    bytes_each: the same per block of the first site at the peak; with samples their number is an
    estimate.
    what: which time and bytes the bound covers, in words.
    change_bytes: the number for the rule's change; 0: none.
    replay_set: the argument of replay --set that tries it; "" = none.
    part: instead of the rule's; None = the rule's.
    action, not_if: instead of the rule's action, and in front of its when_not; "" = the rule's alone.
    confidence, why: how sure it is that the pattern exists and the part fits.
    """

    sites: tuple[int, ...]
    pattern: str
    evidence: tuple[str, ...]
    what: str
    confidence: str
    why: str
    time_ns: int = 0
    bytes: int = 0
    bytes_each: float = 0.0
    change_bytes: int = 0
    action: str = ""
    not_if: str = ""
    replay_set: str = ""
    part: str | None = None


class Rule(NamedTuple):
    """What to look for, and what to do about it.

    part: from docs/parts; "" = none.
    action: what to do in a C++ program; in_c: in others. "" = no advice for these.
    before, after: ten lines each, which compile after `prelude`.
    when_not: when it does not pay.
    unsampled: why samples do not answer it; "" = they do.
    change: its name in `heapwright replay --change`; "" = a replay cannot try it.
    is_least: the recording shows only part of the gain, so it is not an upper bound.
    of_resident: its bytes are resident memory at a scan, not part of the peak.
    stands_beside: shown besides other advice for the site: it is about when blocks end, or a setting.
    """

    name: str
    part: str
    action: str
    find: "Callable[[Any], Iterable[Advice]]"  # of an evidence.Evidence
    when_not: tuple[str, ...]
    in_c: str = ""
    prelude: str = ""
    before: str = ""
    after: str = ""
    unsampled: str = ""
    stands_beside: bool = False
    is_least: bool = False
    of_resident: bool = False
    change: str = ""
