# SPDX-License-Identifier: MIT
"""An explanation as one page for a browser: offline, without requests, small enough to mail."""

from heapwright.page.assemble import MAX_BYTES, render

__all__ = ["MAX_BYTES", "render"]
