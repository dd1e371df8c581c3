# SPDX-License-Identifier: MIT
"""Resident memory that grows where no heap call shows it: the arenas of Python."""

import json
import subprocess
from pathlib import Path

import pytest
from conftest import command

SECONDS = 12
# Two small objects each time; the list that holds them grows at a tenth of that.
GROWS = f"""
import time
def resident():
    with open('/proc/self/status') as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith('RssAnon'))
kept, begin, number, first = [], time.monotonic(), 0, resident()
while time.monotonic() < begin + {SECONDS}:
    for _ in range(300):
        kept.append(('x%d' % number, number + 1000))
        number += 1
    time.sleep(0.01)
print((resident() - first) / (time.monotonic() - begin))
"""


@pytest.mark.full
def test_the_arenas_of_python_grow_before_a_lists_array(tmp_path: Path) -> None:
    trace = tmp_path / "grows.heapwright"
    line = [command, "record", "-o", trace, "--", "/usr/bin/python3", "-c", GROWS]
    recorded = subprocess.run(line, check=True, capture_output=True, text=True, timeout=120)
    real = float(recorded.stdout.split()[0])
    said = subprocess.run([command, "explain", trace, "--json"], check=True, capture_output=True, timeout=120)
    document = json.loads(said.stdout)
    growth = document["questions"]["growth"]
    arenas, of_list = growth["outside"][0], growth["sites"][0]
    rates = arenas["slope_bytes_per_s"] + of_list["slope_bytes_per_s"]
    assert rates == pytest.approx(real, rel=0.1)
    assert arenas["slope_bytes_per_s"] > 5 * of_list["slope_bytes_per_s"]
    assert arenas["again"] == "PYTHONMALLOC=malloc"
    text = next(one["text"] for one in document["summary"]["findings"] if one["question"] == "growth")
    assert text.startswith("resident memory outside malloc grows by ")
    assert "run it again with PYTHONMALLOC=malloc" in text
    screen = subprocess.run(
        [command, "explain", trace, "--unchecked"], check=True, capture_output=True, text=True, timeout=120
    )
    assert "it grows by " in " ".join(screen.stdout.split())
