# SPDX-License-Identifier: MIT
"""heapwright serve: the counters of running processes for Prometheus."""

from __future__ import annotations

import gc
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heapwright.cli.errors import InputError
from heapwright.cli.output import hint, print_json
from heapwright.cli.streams import say
from heapwright.model.extras import prometheus_client
from heapwright.report import units

if TYPE_CHECKING:
    from wsgiref.simple_server import WSGIServer

    from heapwright.serve.watch import Watch

SCHEMA = "heapwright.serve/1"
_PORT = 9776
_BETWEEN_S = 0.25
# How often pages of ended processes are taken.
_TAKE_S = 1.0
_ENDINGS = {signal.SIGINT, signal.SIGTERM}

Port = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on; 0: any free port.")
]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")]
Name = Annotated[
    list[str] | None,
    typer.Option("--name", metavar="NAME", help="Host name that requests may use. Repeatable."),
]
Once = Annotated[bool, typer.Option("--once", help="Print the metrics and exit: for a textfile collector.")]
Dashboard = Annotated[bool, typer.Option("--dashboard", help="Print a Grafana dashboard and exit.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the address as JSON.")]


def serve(
    port: Port = _PORT,
    host: Host = "127.0.0.1",
    name: Name = None,
    once: Once = False,
    dashboard: Dashboard = False,
    json: AsJson = False,
) -> None:
    """Serve the counters of running processes to Prometheus."""
    if dashboard:
        sys.stdout.write(resources.files("heapwright.serve").joinpath("dashboard.json").read_text("utf-8"))
        return
    client = prometheus_client()
    from heapwright.serve.metrics import ProcessCollector
    from heapwright.serve.watch import Watch

    watch = Watch(goes_on=not once)
    registry = client.CollectorRegistry()
    registry.register(ProcessCollector(watch))
    if once:
        watch.look()
        time.sleep(_BETWEEN_S)  # what was seen between two looks tells more of contention
        sys.stdout.write(client.generate_latest(registry).decode())
        return
    server = _listen(host, port, name or [], registry)
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)  # until they are waited for
    _say_where(server, len(watch.look().processes), json)
    gc.enable()  # other commands exit before it matters
    with _taking_ended_pages(watch):
        _run(server)


def _listen(host: str, port: int, names: list[str], registry: Any) -> WSGIServer:
    from heapwright.serve.server import listen

    try:
        return listen(host, port, names, registry, say)
    except socket.gaierror:
        raise InputError(f"--host takes an address of this machine, not '{host}'") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot listen on port {port} of {host}: {reason}; use --port and --host") from None


def _say_where(server: WSGIServer, processes: int, as_json: bool) -> None:
    from heapwright.serve.server import address_of

    address = address_of(server)
    if as_json:
        print_json({"schema": SCHEMA, "address": address, "processes": processes})
    else:
        now = units.counted(processes, "process", "processes")
        sys.stdout.write(f"{address}  {now} with counters now\n")
    sys.stdout.flush()
    if not ip_address(str(server.server_address[0])).is_loopback:
        say("anybody who can reach this port can read program names and figures")
    if processes:
        hint("heapwright serve --dashboard > dashboard.json, for Grafana")
    else:
        hint("heapwright count -- PROGRAM starts a process with counters")


@contextmanager
def _taking_ended_pages(watch: Watch) -> Iterator[None]:
    """Programs leave their pages at their exit meanwhile."""
    from heapwright.live.collecting import Collecting

    try:
        collecting = Collecting()
    except FileExistsError:
        say(
            "another heapwright serve takes the last figures of processes that end; this one has those it saw"
        )
        yield
        return
    except OSError as error:
        say(f"the last figures of processes that end are lost: {(error.strerror or str(error)).lower()}")
        yield
        return
    is_over = threading.Event()

    def take() -> None:
        while not is_over.wait(_TAKE_S):
            watch.take_ended()

    thread = threading.Thread(target=take, name="ended")
    thread.start()
    try:
        yield
    finally:
        collecting.end()
        is_over.set()
        thread.join()


def _run(server: WSGIServer) -> None:
    """Runs until Ctrl-C or SIGTERM, the normal ways to end it. A second signal changes nothing."""
    thread = threading.Thread(target=server.serve_forever, name="serve")
    thread.start()
    signal.sigwait(_ENDINGS)
    server.shutdown()
    thread.join()
    server.server_close()
