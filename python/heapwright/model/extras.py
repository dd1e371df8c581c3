# SPDX-License-Identifier: MIT
"""Packages that only some questions need, imported on use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class MissingPackageError(Exception):
    """A package is not installed; the text is one line that says how to install it."""

    def __init__(self, name: str, extra: str) -> None:
        super().__init__(f"this needs the package {name}: pip install 'heapwright[{extra}]'")


def duckdb() -> Any:
    """The module duckdb; MissingPackageError when it is not installed."""
    try:
        return import_module("duckdb")
    except ModuleNotFoundError:
        raise MissingPackageError("duckdb", "sql") from None


def prometheus_client() -> Any:
    """The module prometheus_client; MissingPackageError when it is not installed."""
    try:
        return import_module("prometheus_client")
    except ModuleNotFoundError:
        raise MissingPackageError("prometheus-client", "serve") from None


def textual() -> Any:
    """The module textual; MissingPackageError when it is not installed."""
    try:
        return import_module("textual")
    except ModuleNotFoundError:
        raise MissingPackageError("textual", "top") from None


def pyarrow() -> Any:
    """The modules pyarrow and pyarrow.parquet; MissingPackageError when they are not installed."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise MissingPackageError("pyarrow", "fleet") from None


def ibis(engine: str) -> Any:
    """The module ibis, with what an engine of it needs; MissingPackageError when one is not installed."""
    try:
        import_module(engine)
    except ModuleNotFoundError:
        raise MissingPackageError(engine, "spark" if engine == "pyspark" else "fleet") from None
    try:
        return import_module("ibis")
    except ModuleNotFoundError:
        raise MissingPackageError("ibis-framework", "fleet") from None
