# SPDX-License-Identifier: MIT
"""Tables and figures for readers: one description, written for terminals, Markdown and JSON."""
