# SPDX-License-Identifier: MIT
"""The recorded calls as trees to browse: any measure, from the callers or from the allocations."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

from heapwright.browse.trees import Measure, Place
from heapwright.explain import details, tree
from heapwright.explain.report import Report
from heapwright.model.call_tree import Branch, Callees, Callers
from heapwright.model.names import short_name
from heapwright.report import units

_BLOCKS = {
    "blocks": tree.Measure(("live_at_peak_blocks",), "blocks live at the peak", units.count),
    "left": tree.Measure(("live_at_end_blocks",), "blocks live at the end", units.count),
}
MEASURES = tree.MEASURES | _BLOCKS


class CallNode:
    """A function with the weight of the stacks that contain it."""

    def __init__(self, branches: Callers | Callees, branch: Branch) -> None:
        self._branches = branches
        self._branch = branch
        self.weight = branch.weight
        self.whole_name = branch.location.function if branch.location is not None else ""
        self.name = short_name(self.whole_name)

    @property
    def key(self) -> Hashable:
        """Function, file and library: what a branch is of."""
        location = self._branch.location
        return (location.function, location.file, location.library) if location is not None else ()

    @property
    def place(self) -> Place:
        """The line, if all calls come from one."""
        location = self._branch.location
        return Place(location.file, location.line, location.library) if location is not None else Place()

    def inner(self) -> Sequence[CallNode]:
        """The next functions."""
        return self._inner

    @cached_property
    def _inner(self) -> list[CallNode]:
        return [CallNode(self._branches, branch) for branch in self._branches.of(self._branch)]


class CallTrees:
    """All call stacks of a report."""

    ends = tree.ENDS

    def __init__(self, report: Report, title: str, is_timed: bool) -> None:
        self.title = title
        self.measures = [
            Measure(name, measure.title) for name, measure in MEASURES.items() if is_timed or name != "time"
        ]
        self._report = report
        self._stacks = report.trace.stack_columns

    def root(self, measure: str, end: str, text: str) -> CallNode:
        """Of the stacks in which some function has the text; the same function is found from both ends."""
        weights = details.weights(self._report, MEASURES[measure].columns)
        kind = Callers if end == "allocation" else Callees
        branches = kind(self._stacks["parent"], self._stacks["frame"], self._report.sites.locations)
        has = self._with_text(text.lower()) if text else None
        chosen = ((stack, weight) for stack, weight in enumerate(weights) if weight)
        return CallNode(branches, branches.root(one for one in chosen if has is None or has[one[0]]))

    def written(self, measure: str, weight: int) -> str:
        """As reports write it."""
        return MEASURES[measure].text(weight)

    def _with_text(self, text: str) -> list[bool]:
        """Of each stack, whether a function of it has the text; callers come before what they call."""
        locations = self._report.sites.locations
        of_frame: dict[int, bool] = {}
        found = [False]
        for stack, (parent, frame) in enumerate(
            zip(self._stacks["parent"], self._stacks["frame"], strict=True)
        ):
            if not stack:
                continue
            if frame not in of_frame:
                of_frame[frame] = any(text in location.function.lower() for location in locations(frame))
            found.append(of_frame[frame] or found[parent])
        return found
