# SPDX-License-Identifier: MIT
"""heapwright.context: what it tells a recorder's function (journeys/test_contexts.py: a real one)."""

import asyncio
import ctypes
import gc
from collections.abc import Coroutine, Iterator
from typing import Any

import greenlet
import heapwright
import pytest
from heapwright import contexts

Told = list[bytes | None]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """The names that a recorder's function was called with; it returns the one before, as the real one does."""
    names: Told = [None]
    addresses: list[int | None] = [None]

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    def annotate(address: int | None) -> int | None:
        before = addresses[-1]
        addresses.append(address)
        names.append(ctypes.string_at(address) if address else None)
        return before

    class Process:
        heapwright_annotate_context = annotate

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: Process)
    contexts.swap.cache_clear()
    yield names
    contexts.swap.cache_clear()


def test_contexts_nest_and_end_however_they_are_left(told: Told) -> None:
    with heapwright.context("outer"):
        with heapwright.context("inner é"):
            pass
        with pytest.raises(ZeroDivisionError), heapwright.context("fails"):
            raise ZeroDivisionError
    outer = b"outer"
    assert told[1:] == [outer, "inner é".encode(), outer, b"fails", outer, None]


def test_without_a_recorder_nothing_happens() -> None:
    contexts.swap.cache_clear()
    with heapwright.context("alone"):
        assert contexts.swap() is None

    async def main() -> None:
        heapwright.name_tasks()
        assert asyncio.get_running_loop().get_task_factory() is None

    followed = main()
    assert heapwright.name_tasks(followed) is followed
    asyncio.run(followed)
    heapwright.name_greenlets()
    assert greenlet.gettrace() is None


def run(main: Coroutine[Any, Any, None]) -> None:
    followed = heapwright.name_tasks(main)
    assert followed is not None
    asyncio.run(followed)


def test_each_task_has_a_context_over_its_awaits(told: Told) -> None:
    seen: list[tuple[str, bytes | None]] = []

    async def serve(route: str) -> None:
        for _ in range(2):
            seen.append(("outside", told[-1]))
            with heapwright.context(route):
                await asyncio.sleep(0)
                seen.append((route, told[-1]))
            await asyncio.sleep(0)

    async def main() -> None:
        with heapwright.context("main's"):
            first = asyncio.create_task(serve("/cart"), name="shop")
            await asyncio.gather(first, serve("/item"), serve("/cart"))
            seen.append(("main's", told[-1]))
        seen.append(("main", told[-1]))

    run(main())
    assert told[-1] is None
    assert seen[-2:] == [
        ("main's", b"main's"),
        ("main", b"test_each_task_has_a_context_over_its_awaits.<locals>.main"),
    ]
    unnamed = b"test_each_task_has_a_context_over_its_awaits.<locals>.serve"
    assert sorted(seen[:-2]) == sorted(
        2 * [("outside", b"shop")]
        + 4 * [("outside", unnamed)]
        + 4 * [("/cart", b"/cart")]
        + 2 * [("/item", b"/item")]
    )


def test_tasks_that_fail_are_cancelled_or_dropped_end_their_contexts(told: Told) -> None:
    seen: list[bytes | None] = []

    async def waits() -> None:
        with heapwright.context("waits"):
            try:
                await asyncio.Event().wait()
            finally:
                seen.append(told[-1])

    async def fails() -> None:
        with heapwright.context("fails"):
            await asyncio.sleep(0)
            raise ZeroDivisionError

    async def main() -> None:
        cancelled = asyncio.create_task(waits())
        failing = asyncio.create_task(fails())
        await asyncio.sleep(0)
        cancelled.cancel()
        assert [type(end) for end in await asyncio.gather(cancelled, failing, return_exceptions=True)] == [
            asyncio.CancelledError,
            ZeroDivisionError,
        ]
        seen.append(told[-1])
        dropped = heapwright.name_tasks(waits())
        assert dropped is not None
        dropped.send(None)
        del dropped
        gc.collect()
        seen.append(told[-1])

    run(main())
    name = b"test_tasks_that_fail_are_cancelled_or_dropped_end_their_contexts.<locals>.main"
    assert seen == [b"waits", name, b"waits", name]
    assert told[-1] is None


def test_followed_tasks_are_shown_as_the_program_wrote_them(told: Told) -> None:
    made: list[str] = []

    class Task(asyncio.Task[Any]):
        pass

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(getattr(coroutine, "__name__", ""))
        return Task(coroutine, loop=loop, **options)

    async def waits() -> int:
        await asyncio.sleep(0.01)
        return 5

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(factory)
        heapwright.name_tasks()
        heapwright.name_tasks()
        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        assert "waits() running at " in repr(task)
        assert "test_contexts.py" in repr(task)
        assert [frame.f_code.co_name for frame in task.get_stack()] == ["waits"]
        assert await task == 5
        with pytest.raises(TypeError):
            await asyncio.create_task(5)  # type: ignore[arg-type]

    asyncio.run(main())
    assert made[0] == "waits"
    assert told[-1] is None


def test_each_greenlet_has_a_context_over_its_switches(told: Told) -> None:
    seen: list[tuple[str, bytes | None]] = []
    traced: list[str] = []
    main = greenlet.getcurrent()

    class Named(greenlet.greenlet):
        name = "named"

    def work(route: str) -> None:
        seen.append(("outside", told[-1]))
        with heapwright.context(route):
            for _ in range(2):
                main.switch()
                seen.append((route, told[-1]))

    def fails() -> None:
        with heapwright.context("fails"):
            raise ZeroDivisionError

    earlier = greenlet.settrace(lambda event, _about: traced.append(event))
    try:
        heapwright.name_greenlets()
        heapwright.name_greenlets()
        both = [greenlet.greenlet(work), Named(work)]
        with heapwright.context("main's"):
            for number, each in enumerate(both):
                each.switch(f"/{number}")
            seen.append(("main's", told[-1]))
        with pytest.raises(ZeroDivisionError):
            greenlet.greenlet(fails).switch()
        for each in 2 * both:
            each.switch()
    finally:
        greenlet.settrace(earlier)
    assert seen == [
        ("outside", b"greenlet"),
        ("outside", b"named"),
        ("main's", b"main's"),
        *2 * [("/0", b"/0"), ("/1", b"/1")],
    ]
    assert told[-1] is None
    assert len(traced) == 2 * 7, "each switch there and back"
