# SPDX-License-Identifier: MIT
"""How to avoid a line's allocations, and a bound on the gain.

If a rule of explain's advice applies to the line and fits its expression, its figures are used.
Otherwise the bound is the time of the line's calls and of the frees of its blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heapwright.explain.advice.answer import Proposal
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import LOW
from heapwright.explain.report import share
from heapwright.lint.expression import (
    ARGUMENT,
    ELEMENT,
    GIVEN,
    LOCAL,
    MEMBER,
    PARAMETER,
    RETURNED,
    TEMPORARY,
    Owner,
)
from heapwright.lint.finding import Costs, Remedy
from heapwright.lint.kinds import BY_NAME

_MOST = 0.9
_ALL_CALLS = "all calls of this line and the frees of its blocks"
_STREAM_OF_OTHERS = "let the stream's owner keep it and empty it with str(), so that it keeps its buffer"
_PER_OWNER = {
    "new-object": {
        LOCAL: "make it a local by value: it ends with its scope",
        TEMPORARY: "make it a local by value: it ends with its scope",
        MEMBER: "make it a member by value if its type is fixed, or keep and reuse the object",
        RETURNED: "a private heap for its class (class_heap), or by value if its type is fixed",
        ELEMENT: "an arena or object pool for them; store objects by value if they have one type",
        PARAMETER: "let the caller pass the storage, or take it from an object pool",
        ARGUMENT: "pass a local by reference if the callee does not keep it; otherwise a class_heap",
    },
    "new-array": {
        RETURNED: "let the caller pass the buffer, or keep it with its capacity for reuse",
        GIVEN: "keep the buffer with its capacity for reuse; inline storage if it is small",
        LOCAL: "a local array or small_vector if it is small; otherwise one kept buffer",
        MEMBER: "an array in the object if its size is fixed; otherwise grow it only when too small",
    },
    "vector-growth": {
        MEMBER: "keep and clear it if its owner is remade; reserve if the count is known",
        PARAMETER: "let the caller keep it: clear() keeps its capacity; reserve if the count is known",
    },
    "string-growth": {
        RETURNED: "append to a string that the caller keeps",
    },
    "string-made": {
        ELEMENT: "one buffer for the characters of all elements, and std::string_view into it",
        ARGUMENT: "std::string_view if the callee only reads it; if it keeps it, move it in",
        RETURNED: "write into a string that the caller keeps, or directly to its destination",
    },
    "stream": {MEMBER: _STREAM_OF_OTHERS, PARAMETER: _STREAM_OF_OTHERS},
    "vector-copy": {RETURNED: "return a reference, or let the caller pass one to assign to"},
    "string-copy": {
        RETURNED: "return std::string_view or a reference",
        ELEMENT: "move it into the container, or keep std::string_view if the characters stay",
        MEMBER: "take the parameter by value and move it in",
    },
}
_KEPT = "its blocks stay to the end: use fewer or larger ones, or an arena"
_FEW = 32  # blocks: their number does not matter
_FEW_LARGE = "the blocks are few: only their size and lifetime matter"
_KEPT_OWNERS = (MEMBER, PARAMETER)  # filled by repeated calls, where reserve() makes it grow one by one
_KEPT_KINDS = ("new-object", "new-array", "c-allocation", "make-unique")


def choose(
    kind: str, owner: Owner, costs: Costs, groups: Iterable[int], of: Evidence, proposals: Sequence[Proposal]
) -> Remedy:
    """groups: those of the finding."""
    own = set(groups)
    for proposal in proposals:
        fits = proposal.rule.name in BY_NAME[kind].rules and proposal.advice.confidence != LOW
        fits &= proposal.rule.name != "reserve" or owner.kind not in _KEPT_OWNERS
        if fits and proposal.advice.sites[0] in own:
            return _of_proposal(proposal)
    return _general(kind, owner, costs, own, of)


def _of_proposal(proposal: Proposal) -> Remedy:
    advice, rule = proposal.advice, proposal.rule
    return Remedy(
        rule.action if proposal.is_cpp or not rule.in_c else rule.in_c,
        rule.part,
        rule.name,
        advice.time_ns,
        proposal.time_share,
        advice.bytes,
        proposal.bytes_share,
        advice.what,
        proposal.replay_change,
        rule.when_not[0],
    )


def _general(kind: str, owner: Owner, costs: Costs, own: set[int], of: Evidence) -> Remedy:
    action = _PER_OWNER.get(kind, {}).get(owner.kind, BY_NAME[kind].fix)
    when_not = BY_NAME[kind].when_not
    if any(map(of.is_a_pool, own)):
        action, when_not = "it fills a pool: larger pieces mean fewer calls", "the pieces stay half empty"
    elif 0 < costs.allocations <= _FEW:
        action, when_not = _FEW_LARGE, "they are as large as needed"
    elif kind in _KEPT_KINDS and costs.live_at_end_blocks >= _MOST * costs.allocations > 0:
        action, when_not = _KEPT, "they are few"
    time_ns = min(costs.time_ns, of.time_ns)
    return Remedy(
        action,
        time_ns=time_ns,
        time_share=share(time_ns, of.time_ns),
        what=_ALL_CALLS,
        when_not=when_not,
    )
