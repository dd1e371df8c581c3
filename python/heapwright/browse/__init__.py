# SPDX-License-Identifier: MIT
"""Trees of anything on a terminal, with keys."""
