# SPDX-License-Identifier: MIT
"""Running processes by their pages of counters."""
