# SPDX-License-Identifier: MIT
"""Figures of running processes over HTTP, as Prometheus and its like read them."""
