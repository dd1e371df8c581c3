# SPDX-License-Identifier: MIT
"""What a rule is, and what it finds."""

# Annotations are values here: from text, every field of a NamedTuple is compiled, half of the import's time.

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

HIGH, MEDIUM, LOW = "high", "medium", "low"
CONFIDENCES = (HIGH, MEDIUM, LOW)


class Advice(NamedTuple):
    """One piece of advice.

    sites: by number, the one with most to gain first.
    pattern: what was seen, with its figures, as the rest of a sentence that begins with the site.
    time_ns, bytes: at most so much is to gain; 0 = nothing of it, or not known.
    bytes_each: of these, of each block of the first site that lived at the peak; in samples their number
    is an estimate.
    what: the bound in words: which time, which bytes.
    change_bytes: what the rule's change takes as its number; 0: none.
    confidence, why: how sure it is that the pattern is there and the part fits.
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


class Rule(NamedTuple):
    """What to look for, and what to do about it.

    part: of docs/parts; "" = none.
    action: what to do, to a program in C++; in_c: to others. "" = nothing to say to these.
    before, after: ten lines each, which compile with `prelude` in front.
    when_not: where it does not pay.
    unsampled: why samples do not answer it; "" = they do.
    change: what `heapwright replay --change` calls it; "" = a replay cannot make it.
    is_least: the recording has a part of the gain alone, so it is no bound from above.
    of_resident: its bytes are of resident memory at a scan, not of the peak.
    stands_beside: told whatever else is said of the site: it is about when blocks end, or a setting.
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
