# SPDX-License-Identifier: MIT
"""A running heapwright serve, and what it says."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from conftest import command
from counting import environment
from prometheus_client.openmetrics.parser import text_string_to_metric_families

OPEN_METRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}
Series = dict[tuple[str, str], float]


class Served:
    """A running heapwright serve."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address = address
        self.process = process

    def get(self, path: str = "/metrics", headers: dict[str, str] | None = None) -> str:
        request = urllib.request.Request(
            self.address.replace("/metrics", path), headers=headers or OPEN_METRICS
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            text: str = answer.read().decode()
        return text

    def scrape(self) -> Series:
        """By name and process, summed over other labels."""
        found: Series = {}
        for family in text_string_to_metric_families(self.get()):
            for sample in family.samples:
                key = sample.name, sample.labels.get("pid", "")
                found[key] = found.get(key, 0) + sample.value
        return found

    def calls_of(self, process: int) -> float | None:
        return self.scrape().get(("heap_calls_total", str(process)))


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as one:
        yield one


@contextmanager
def serving(*options: str) -> Iterator[Served]:
    line = [str(command), "serve", "--port", "0", "--json", *options]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield Served(json.loads(process.stdout.readline())["address"], process)
        finally:
            process.terminate()
            said = process.stderr.read()
            code = process.wait(20)
    assert code == 0
    assert "Traceback" not in said


def until(is_so: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
