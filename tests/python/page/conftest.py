# SPDX-License-Identifier: MIT
"""What the page's tests share."""

from browsing import browser, opened, pins

__all__ = ["browser", "opened", "pins"]
