# SPDX-License-Identifier: MIT
"""Resident memory that grows where no heap call shows it: the arenas of Python."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

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


GROWS_IN_PHP = f"""<?php
function resident() {{
    preg_match('/RssAnon:\\s+(\\d+)/', file_get_contents('/proc/self/status'), $found);
    return $found[1] * 1024;
}}
$kept = []; $number = 0; $begin = microtime(true); $first = resident();
while (microtime(true) < $begin + {SECONDS}) {{
    for ($i = 0; $i < 300; ++$i) {{ $kept[] = ['x' . $number, $number++]; }}
    usleep(10000);
}}
echo (resident() - $first) / (microtime(true) - $begin), "\\n";
"""


@pytest.mark.full
@pytest.mark.skipif(shutil.which("php") is None, reason="php is not installed")
def test_the_chunks_of_php_grow_and_the_setting_names_the_sites(tmp_path: Path) -> None:
    script, trace = tmp_path / "grows.php", tmp_path / "grows.heapwright"
    script.write_text(GROWS_IN_PHP, encoding="utf-8")

    def growth(*before: str) -> tuple[float, dict[str, Any]]:
        line = [*before, command, "record", "--force", "-o", trace, "--", "php", "-n", script]
        recorded = subprocess.run(line, check=True, capture_output=True, text=True, timeout=120)
        explain = [command, "explain", trace, "--json", "--question", "growth"]
        said = subprocess.run(explain, check=True, capture_output=True, timeout=120)
        return float(recorded.stdout.split()[0]), json.loads(said.stdout)["questions"]["growth"]

    real, found = growth()
    (chunks,) = found["outside"]
    assert chunks["again"] == "USE_ZEND_ALLOC=0"
    assert chunks["slope_bytes_per_s"] == pytest.approx(real, rel=0.15)
    _, found = growth("/usr/bin/env", "USE_ZEND_ALLOC=0")
    assert not found["outside"]
    assert sum(site["slope_bytes_per_s"] for site in found["sites"]) > 0.5 * real, "each object is a call"
