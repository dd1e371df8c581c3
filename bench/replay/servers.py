# SPDX-License-Identifier: MIT
"""Servers under a load that also ends them."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress

_START_S = 20.0
_CLIENTS = 32
_BATCHES = 150
_KEYS = 100


def free_port() -> int:
    """One that nobody listens at now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def redis_load(port: int) -> Callable[[], None]:
    """Half a million writes of six kinds by redis-benchmark."""
    load = ["redis-benchmark", "-p", str(port), "-n", "100000", "-c", "20", "-P", "16", "-r", "100000"]
    load += ["-q", "-t", "set,lpush,lpop,hset,sadd,zadd", "-d", "120"]

    def work() -> None:
        _wait_for(port)
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        command = ["redis-cli", "-p", str(port), "shutdown", "nosave"]
        subprocess.run(command, check=False, capture_output=True)

    return work


def memcached_load(port: int) -> Callable[[], None]:
    """Clients side by side: values of 100 bytes to 20 KB are set and read."""

    def work() -> None:
        _wait_for(port)
        clients = [threading.Thread(target=_talk, args=(port, number)) for number in range(_CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"shutdown\r\n")
            with suppress(OSError):
                connection.recv(1)

    return work


def _talk(port: int, number: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answers:
        for batch in range(_BATCHES):
            size = 100 + (number * 7919 + batch * 104_729) % 20_000
            keys = [b"%d-%d" % (number, (batch * 31 + key) % 1000) for key in range(_KEYS)]
            value = b"x" * size
            connection.sendall(b"".join(b"set %b 0 0 %d\r\n%b\r\n" % (key, size, value) for key in keys))
            for _ in keys:
                answers.readline()
            connection.sendall(b"get %b\r\n" % b" ".join(keys))
            while answers.readline() not in (b"END\r\n", b""):
                pass


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.025)
    raise RuntimeError("the server did not start")
