# SPDX-License-Identifier: MIT
"""heapwright serve read by Debian's Prometheus, and what its dashboard asks answered by it."""

import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import programs
from counting import Running, ask, count
from serving import Served, served, until

pytestmark = pytest.mark.full

__all__ = ["served"]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def test_debians_promtool_finds_no_fault_with_the_names() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("apt-get install prometheus")
    running = Running("cat")
    text = ask("serve", "--once").stdout
    running.end()
    assert f'pid="{running.process.pid}"' in text
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False, timeout=60
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_the_documents_alert_is_a_rule(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("apt-get install prometheus")
    text = (Path(__file__).parents[2] / "docs/serve.md").read_text()
    (rules,) = [block.split("```")[0] for block in text.split("```yaml\n")[1:] if "groups:" in block]
    path = tmp_path / "rules.yml"
    path.write_text(rules)
    checked = subprocess.run(
        ["promtool", "check", "rules", path], capture_output=True, text=True, check=False, timeout=60
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


class Prometheus:
    """Debian's, that scrapes one target each second."""

    def __init__(self, folder: Path, target: str) -> None:
        self._port = free_port()
        configuration = folder / "prometheus.yml"
        scrape = {"job_name": "heaps", "static_configs": [{"targets": [target]}]}
        settings = {"global": {"scrape_interval": "1s"}, "scrape_configs": [scrape]}
        configuration.write_text(json.dumps(settings))  # JSON is YAML
        line = [
            "prometheus",
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
        ]
        self.process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The rows of an instant query; none while it does not answer yet."""
        address = f"http://127.0.0.1:{self._port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(address, timeout=20) as answer:
                document = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it is still starting
                return []
            raise AssertionError(f"{query}: {error.read().decode()}") from None
        except OSError:
            return []
        rows: list[dict[str, Any]] = document["data"]["result"]
        return rows


@pytest.fixture
def prometheus(tmp_path: Path, served: Served) -> Iterator[Prometheus]:
    if shutil.which("prometheus") is None:
        pytest.skip("apt-get install prometheus")
    target = served.address.removeprefix("http://").removesuffix("/metrics")
    one = Prometheus(tmp_path, target)
    yield one
    one.process.terminate()
    one.process.wait(20)


def dashboard_queries() -> list[str]:
    document = json.loads(ask("serve", "--dashboard").stdout)
    queries = [target["expr"] for panel in document["panels"] for target in panel["targets"]]
    return [query.replace("$__rate_interval", "5s").replace("$program", ".*") for query in queries]


def test_debians_prometheus_scrapes_and_answers(prometheus: Prometheus) -> None:
    script = "import time\nkept = []\nwhile True:\n    kept.append(bytearray(5000)); time.sleep(0.001)\n"
    running = Running("/usr/bin/python3.11", "-S", "-E", "-c", script)
    pid = str(running.process.pid)
    rows = until(lambda: prometheus.ask(f'rate(heap_requested_bytes_total{{pid="{pid}"}}[4s]) > 0'))
    assert rows
    assert rows[0]["metric"]["program"] == "python3.11"
    for query in dashboard_queries():
        asked = query.replace("$pid", pid)
        is_others = any(name in query for name in ("heap_live_change", "heap_lock", "heap_context"))
        assert (
            prometheus.ask(asked) == [] if is_others else until(lambda asked=asked: prometheus.ask(asked))
        ), query
    (p50,) = prometheus.ask(
        f'histogram_quantile(0.5, rate(heap_request_size_bytes_bucket{{pid="{pid}"}}[5s]))'
    )
    assert 4095 < float(p50["value"][1]) <= 16383
    running.end()
    assert until(lambda: not prometheus.ask(f'heap_calls_total{{pid="{pid}"}}'))
    count(programs / "contexts", "serve")
    for query in (query for query in dashboard_queries() if "heap_context" in query):
        rows = until(lambda query=query: prometheus.ask(query.replace("[5s]", "[1m]")))
        assert {row["metric"]["program"] for row in rows} == {"contexts"}, query
