# SPDX-License-Identifier: MIT
"""A service in Python that keeps one answer in fifty."""

import json

cache: dict[int, bytearray] = {}


def handle(number: int) -> int:
    """Its answer's length."""
    body = json.dumps({"number": number, "text": "x" * (number % 900)})
    if number % 50 == 0:
        remember(number, body)
    return len(body)


def remember(number: int, body: str) -> None:
    """Nothing is ever removed."""
    cache[number] = bytearray(body.encode() * 20)


print(sum(handle(number) for number in range(60000)))
