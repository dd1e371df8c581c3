# SPDX-License-Identifier: MIT
"""The server: /metrics, for as many readers as there are."""

from __future__ import annotations

import io
import re
import socket
import time
from collections.abc import Callable, Collection, Iterable
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from heapwright.live.choice import pages_called
from heapwright.live.profiles import NoProfileError, NoSamplesYetError, copy_profile, sampled_processes
from heapwright.model.trace import TraceError
from heapwright.serve.counted_profile import written_sums
from heapwright.serve.profile import written

PATH = "/metrics"
# The format of the profile and its content type; OTLP's is what its collectors take as a request's body.
PROFILES = {
    "/debug/pprof/heap": ("pprof", "application/octet-stream"),
    "/debug/otlp/heap": ("otlp", "application/x-protobuf"),
}
_START = (
    "heapwright serve: the metrics are at /metrics, "
    "profiles at /debug/pprof/heap?pid=PID and /debug/otlp/heap?pid=PID\n"
)
_STRANGE_NAME = "heapwright serve does not know this host name; allow it with --name\n"
# So long a client may take to send its request, in however many pieces, and then to receive the answer.
_MOST_SECONDS = 5.0
_App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _Server(ThreadingWSGIServer):
    # Readers that come at once wait; what is beyond is asked again by the kernel a second later, or given up.
    request_queue_size = 1024

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that disconnect or do not speak HTTP."""


class _ServerOf6(_Server):
    address_family = socket.AF_INET6


class _Request(io.RawIOBase):
    """What a client sends, within one budget of time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._ends_s = time.monotonic() + _MOST_SECONDS

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """TimeoutError: it took too long."""
        self._connection.settimeout(max(1e-3, self._ends_s - time.monotonic()))
        return self._connection.recv_into(buffer)


class _Handler(WSGIRequestHandler):
    timeout = _MOST_SECONDS

    def setup(self) -> None:
        """A socket's own time limit would begin anew with each piece."""
        super().setup()
        self.rfile = io.BufferedReader(_Request(self.connection))

    def parse_request(self) -> bool:
        """The answer has as much time, all of it together."""
        is_good = super().parse_request()
        self.connection.settimeout(_MOST_SECONDS)
        return is_good

    def log_message(self, format: str, *args: Any) -> None:
        """Logs no line per scrape."""


def listen(
    host: str, port: int, names: Collection[str], registry: CollectorRegistry, say: Callable[[str], None]
) -> WSGIServer:
    """A server that takes no request yet. port 0: any that is free. names: that requests may call it by,
    beside host, localhost and addresses. OSError: not this address."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    server = _ServerOf6 if family == socket.AF_INET6 else _Server
    return make_server(host, port, _application({host, *names}, registry, say), server, _Handler)


def address_of(server: WSGIServer) -> str:
    """Where the metrics are."""
    host, port = server.server_address[:2]
    name = str(host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}{PATH}"


def is_called_so(header: str, names: Collection[str]) -> bool:
    """Whether a request's Host may be ours. A page on the web whose name leads here is not to read this:
    a browser lets it, and tells the name.

    >>> is_called_so("[::1]:9776", ()), is_called_so("localhost", ()), is_called_so("example.org", ())
    (True, True, False)
    """
    name = header.rpartition(":")[0] if re.search(r":\d*$", header) and header[-1] != "]" else header
    name = name.strip("[]").rstrip(".").lower()
    if name == "localhost" or name in {known.rstrip(".").lower() for known in names}:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _application(names: Collection[str], registry: CollectorRegistry, say: Callable[[str], None]) -> _App:
    metrics: _App = make_wsgi_app(registry)

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        header = environ.get("HTTP_HOST")
        if header is not None and not is_called_so(header, names):
            return _text(start, "403 Forbidden", _STRANGE_NAME)
        path = environ.get("PATH_INFO", "")
        if path == PATH:
            try:
                return metrics(environ, start)
            except Exception as error:  # one client's request must not affect the others
                say(f"a request was not answered: {type(error).__name__}: {error}")
                return _text(start, "500 Internal Server Error", "not available now\n")
        if path in PROFILES:
            return _profile(environ, start, *PROFILES[path])
        return _text(start, "200 OK", _START) if path == "/" else _text(start, "404 Not Found", _START)

    return _with_heads(answer)


def _with_heads(answer: _App) -> _App:
    """Answers HEAD, used by health checks, like GET without the body."""

    def answer_both(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "HEAD":
            return answer(environ, start)
        head: list[Any] = []
        text = b"".join(answer(environ | {"REQUEST_METHOD": "GET"}, lambda *given: head.extend(given)))
        status, headers = head[:2]
        start(status, [*headers, ("Content-Length", str(len(text)))])
        return []

    return answer_both


def _profile(
    environ: dict[str, Any], start: Callable[..., Any], form: str, content_type: str
) -> Iterable[bytes]:
    """Of the process that is named, or of the only one that is sampled; without samples the sums alone."""
    wanted = parse_qs(environ.get("QUERY_STRING", "")).get("pid", [""])[0]
    sampled = sampled_processes()
    if not wanted and len(sampled) == 1:
        wanted = str(sampled[0])
    if not wanted.isdecimal():
        having = ", ".join(map(str, sampled)) or "none; heapwright count --sample 512k starts one"
        return _text(
            start,
            "400 Bad Request",
            f"name a process with ?pid=PID; processes with samples: {having}; of other counted ones: sums\n",
        )
    try:
        profile = written(copy_profile(int(wanted)), form)
    except (NoSamplesYetError, TraceError):
        return _text(start, "503 Service Unavailable", "no samples yet; try again in a second\n")
    except NoProfileError as error:
        page = next((page for page in pages_called(wanted) if page.calls), None)
        if page is None:
            return _text(start, "404 Not Found", f"{error}\n")
        profile = written_sums(page, form)
    start("200 OK", [("Content-Type", content_type)])
    return [profile]


def _text(start: Callable[..., Any], status: str, text: str) -> Iterable[bytes]:
    start(status, [("Content-Type", "text/plain; charset=utf-8")])
    return [text.encode()]
