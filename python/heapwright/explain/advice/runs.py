# SPDX-License-Identifier: MIT
"""Runs of frees: how long they take."""

from __future__ import annotations

from heapwright.explain.advice.evidence import Evidence
from heapwright.model.facts import ReleaseRun


def span_ns(of: Evidence, run: ReleaseRun) -> int:
    """What the run of frees took with its destructors, minus the recorder's time."""
    return max(0, run.busy_ns - int(run.blocks * of.release_cost_ns))
