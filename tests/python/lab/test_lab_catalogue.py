# SPDX-License-Identifier: MIT
"""The experiments' descriptions agree with what the program reports."""

from __future__ import annotations

import pytest
from heapwright.lab import catalogue
from heapwright.measure.errors import MeasureError
from heapwright.measure.experiment import Experiment
from heapwright.measure.runner import Settings
from heapwright.report.units import WRITERS
from lab_runs import run


@pytest.mark.parametrize("experiment", catalogue.EXPERIMENTS, ids=lambda e: e.name)
def test_every_figure_and_series_named_is_reported(experiment: Experiment) -> None:
    document = run([experiment], ["glibc"], Settings(runs=1, scale=0.0005))
    (record,) = document["experiments"]
    assert "problem" not in record
    for part, part_record in zip(experiment.parts, record["parts"], strict=True):
        for case in part_record["cases"]:
            (result,) = case["results"]
            assert result["failure"] == ""
            assert {f.key for f in part.figures} <= set(result["summary"]), case["name"]
            for plot in part.plots:
                wanted = {plot.x, plot.y} if plot.kind == "series" else set()
                assert wanted <= set(result["series"])


@pytest.mark.parametrize("experiment", catalogue.EXPERIMENTS, ids=lambda e: e.name)
def test_descriptions_are_whole(experiment: Experiment) -> None:
    assert len(experiment.explained) == 3
    assert all(
        text.endswith(".") for text in (*experiment.explained, experiment.reported, experiment.meaning)
    )
    for part in experiment.parts:
        assert {f.unit for f in part.figures} <= WRITERS.keys()
        assert any(not f.of_load for f in part.figures)
        names = [case.name for case in part.cases]
        assert len(names) == len(set(names))
        assert {p.case for p in part.plots} <= {"", *names}


def test_a_wrong_name_gets_the_nearest_one() -> None:
    with pytest.raises(MeasureError, match="no experiment latensy; did you mean latency"):
        catalogue.choose("latensy")
    with pytest.raises(MeasureError, match="no experiment qq; known: all, buffer-cache"):
        catalogue.choose("qq")
