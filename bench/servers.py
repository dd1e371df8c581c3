# SPDX-License-Identifier: MIT
"""Servers of the tables of real programs: the load of each, which also ends it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BufferedIOBase
from random import Random

_START_S = 20.0
_CLIENTS = 32
_BATCHES = 150
_KEYS = 100
_CHURNED_KEYS = 200_000
_PIPELINED = 500


def free_port() -> int:
    """One that nobody listens at now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def redis_load(port: int) -> Callable[[], None]:
    """Keys are set, nine of ten deleted at random, and others of other sizes set: holes that do not fit."""

    def work() -> None:
        wait_for(port)
        random = Random(4)
        keys = list(range(_CHURNED_KEYS))
        random.shuffle(keys)
        deleted = keys[: _CHURNED_KEYS * 9 // 10]
        with socket.create_connection(("127.0.0.1", port)) as connection:
            answers = connection.makefile("rb")
            for part in _in_parts(range(_CHURNED_KEYS)):
                _ask(connection, answers, [_set(b"a%d" % key, random.randint(40, 300)) for key in part])
            for part in _in_parts(deleted):
                _ask(connection, answers, [_command(b"DEL", b"a%d" % key) for key in part])
            for part in _in_parts(range(_CHURNED_KEYS // 4)):
                _ask(connection, answers, [_set(b"b%d" % key, random.randint(350, 900)) for key in part])
            connection.sendall(_command(b"SHUTDOWN", b"NOSAVE"))
            with suppress(OSError):
                connection.recv(1)

    return work


def _in_parts(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    return (keys[at : at + _PIPELINED] for at in range(0, len(keys), _PIPELINED))


def _command(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


def _set(key: bytes, size: int) -> bytes:
    return _command(b"SET", key, b"x" * size)


def _ask(connection: socket.socket, answers: BufferedIOBase, commands: list[bytes]) -> None:
    connection.sendall(b"".join(commands))
    for _ in commands:
        answers.readline()


def memcached_load(port: int, batches: int = _BATCHES) -> Callable[[], None]:
    """Clients side by side: values of 100 bytes to 20 KB are set and read."""

    def work() -> None:
        wait_for(port)
        clients = [threading.Thread(target=_talk, args=(port, number, batches)) for number in range(_CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"shutdown\r\n")
            with suppress(OSError):
                connection.recv(1)

    return work


def _talk(port: int, number: int, batches: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answers:
        for batch in range(batches):
            size = 100 + (number * 7919 + batch * 104_729) % 20_000
            keys = [b"%d-%d" % (number, (batch * 31 + key) % 1000) for key in range(_KEYS)]
            value = b"x" * size
            connection.sendall(b"".join(b"set %b 0 0 %d\r\n%b\r\n" % (key, size, value) for key in keys))
            for _ in keys:
                answers.readline()
            connection.sendall(b"get %b\r\n" % b" ".join(keys))
            while answers.readline() not in (b"END\r\n", b""):
                pass


def wait_for(port: int) -> None:
    """Until something listens there; RuntimeError after 20 s."""
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.025)
    raise RuntimeError("the server did not start")
