# SPDX-License-Identifier: MIT
"""One request to a FastCGI server, of a connection of its own."""

import socket
import struct
from io import BufferedIOBase

_RECORD = struct.Struct(">BBHHBx")  # version, type, request, length, padding
_BEGIN, _END, _PARAMS, _STDIN, _STDOUT = 1, 3, 4, 5, 6
_RESPONDER = 1
_LONG = 1 << 31  # a length of four bytes, not of one


def ask(port: int, **parameters: str) -> str:
    """The body of the answer; RuntimeError unless the server says that it is whole."""
    told = b"".join(_pair(name.encode(), value.encode()) for name, value in parameters.items())
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answers:
        request = _record(_BEGIN, struct.pack(">HB5x", _RESPONDER, 0)) + _record(_PARAMS, told)
        connection.sendall(request + _record(_PARAMS) + _record(_STDIN))
        return _body_of(answers)


def _pair(name: bytes, value: bytes) -> bytes:
    return struct.pack(">II", len(name) | _LONG, len(value) | _LONG) + name + value


def _record(kind: int, content: bytes = b"") -> bytes:
    return _RECORD.pack(1, kind, 1, len(content), 0) + content


def _body_of(answers: BufferedIOBase) -> str:
    said = b""
    while len(head := answers.read(_RECORD.size)) == _RECORD.size:
        _, kind, _, length, padding = _RECORD.unpack(head)
        content = answers.read(length + padding)[:length]
        if kind == _STDOUT:
            said += content
        elif kind == _END:
            if any(content[:5]):  # the program's status, the protocol's
                raise RuntimeError(f"the FastCGI server answers {content.hex()}")
            return said.partition(b"\r\n\r\n")[2].decode()
        else:
            raise RuntimeError(f"the FastCGI server says {content!r}")
    raise RuntimeError("the FastCGI server left its answer unfinished")
