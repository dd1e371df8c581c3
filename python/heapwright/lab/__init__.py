# SPDX-License-Identifier: MIT
"""The field experiments on any allocator: found, run, compared, drawn."""
