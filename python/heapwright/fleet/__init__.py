# SPDX-License-Identifier: MIT
"""Facts of many recordings, and what is asked of them together."""
