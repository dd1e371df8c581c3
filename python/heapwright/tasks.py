# SPDX-License-Identifier: MIT
"""Contexts of asyncio's tasks and of greenlets: each has its own, and the thread has it while that runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from heapwright.contexts import Swap, kept, swap

if TYPE_CHECKING:
    import asyncio

Result = TypeVar("Result")
_GIVEN_BY_NUMBER = re.compile(r"(Task|Greenlet)-\d+|None")  # 3.13.0 names a task of a factory None


class _Steps(Coroutine[Any, Any, Result]):
    """Runs a task's coroutine; in the task's context, from each resumption to the next await."""

    __slots__ = ("_context", "_coroutine", "_is_main", "_swap", "_text")

    def __init__(self, coroutine: Coroutine[Any, Any, Result], function: Swap, *, is_main: bool) -> None:
        self._coroutine, self._swap, self._is_main = coroutine, function, is_main
        self._context: int | None = None
        self._text: Any = None

    def send(self, value: Any) -> Any:
        outer = self._swap(self._context or self._begun())
        try:
            return self._coroutine.send(value)
        finally:
            self._context = self._swap(outer)

    def throw(self, *error: Any) -> Any:
        outer = self._swap(self._context or self._begun())
        try:
            return self._coroutine.throw(*error)
        finally:
            self._context = self._swap(outer)

    def close(self) -> None:
        outer = self._swap(self._context)
        try:
            self._coroutine.close()
        finally:
            self._context = self._swap(outer)

    def __iter__(self) -> Generator[Any, Any, Result]:
        return self  # has all that an await uses of one

    __await__ = __iter__

    def __next__(self) -> Any:
        return self.send(None)

    def __getattr__(self, name: str) -> Any:
        """cr_frame, __qualname__ and others, by which tasks are shown."""
        return getattr(self._coroutine, name)

    def __del__(self) -> None:
        # A task that is dropped within a context ends it; that must not become the thread's.
        if self._context is not None and getattr(self._coroutine, "cr_frame", True):
            self.close()

    def _begun(self) -> int:
        import asyncio

        if self._is_main:
            _follow_new_tasks(asyncio.get_running_loop(), self._swap)
        task = asyncio.current_task()
        name = task.get_name() if task else ""
        if not name or _GIVEN_BY_NUMBER.fullmatch(name):
            name = str(getattr(self._coroutine, "__qualname__", name))
        address, self._text = kept(name or "task")
        return address


def name_tasks(main: Coroutine[Any, Any, Result] | None = None) -> Coroutine[Any, Any, Result] | None:
    """Gives each new task of asyncio's running loop a context: its name, or its function's where it has none.

    `asyncio.run(name_tasks(main()))` includes the main task; with None, a loop must be running. Within a
    followed task `with heapwright.context(name):` lasts over awaits and concerns no other task. The loop's
    task factory is wrapped. Tasks that exist already, and threads that a task starts, are not followed.
    Without a recorder it returns its argument and does nothing else.

    Raises RuntimeError: None was given and no loop runs. A step of a task takes about a microsecond more.
    """
    function = swap()
    if function is None:
        return main
    if main is not None:
        return _Steps(main, function, is_main=True)
    import asyncio

    _follow_new_tasks(asyncio.get_running_loop(), function)
    return None


class _Factory:
    """A loop's task factory, whose tasks are followed."""

    def __init__(self, earlier: Callable[..., Any] | None, function: Swap) -> None:
        self._earlier, self._swap = earlier, function

    def __call__(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        import asyncio

        if asyncio.iscoroutine(coroutine) and not isinstance(coroutine, _Steps):
            coroutine = _Steps(coroutine, self._swap, is_main=False)
        if self._earlier is not None:
            return self._earlier(loop, coroutine, **options)
        return asyncio.Task(coroutine, loop=loop, **options)


def _follow_new_tasks(loop: asyncio.AbstractEventLoop, function: Swap) -> None:
    earlier = loop.get_task_factory()
    if not isinstance(earlier, _Factory):
        loop.set_task_factory(_Factory(earlier, function))


def name_greenlets() -> None:
    """Gives each greenlet of this thread, gevent's as well, a context of its own, from here on.

    It is named by the greenlet's `name`, by its function where that is only a number, or "greenlet"; the
    thread's main greenlet has none. `with heapwright.context(name):` lasts over switches and concerns no
    other greenlet. The thread's trace function of greenlet is wrapped. Without a recorder it does nothing.

    Raises ImportError: there is no greenlet. A switch takes about a microsecond more.
    """
    function = swap()
    if function is None:
        return
    from greenlet import getcurrent, gettrace, settrace

    earlier = gettrace()
    if isinstance(earlier, _Switches):
        return
    current = getcurrent()
    if current.parent is not None:
        function(_named(current))
    settrace(_Switches(earlier, function))


class _Switches:
    """Greenlet's trace function: keeps the context of who is left, sets that of who goes on."""

    def __init__(self, earlier: Callable[..., Any] | None, function: Swap) -> None:
        self._earlier, self._swap = earlier, function

    def __call__(self, event: str, about: Any) -> None:
        if event in ("switch", "throw"):
            left, entered = about
            known = entered.__dict__
            if _CONTEXT not in known:
                known[_CONTEXT] = _named(entered) if entered.parent is not None else None
            left.__dict__[_CONTEXT] = self._swap(known[_CONTEXT])
        if self._earlier is not None:
            self._earlier(event, about)


_CONTEXT, _TEXT = "_heapwright_context", "_heapwright_text"


def _named(greenlet: Any) -> int:
    name = str(getattr(greenlet, "name", ""))
    if not name or _GIVEN_BY_NUMBER.fullmatch(name):
        function = getattr(greenlet, "_run", None)
        name = str(getattr(function, "__qualname__", "greenlet"))
    address, greenlet.__dict__[_TEXT] = kept(name)
    return address
