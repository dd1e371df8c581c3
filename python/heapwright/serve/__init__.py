# SPDX-License-Identifier: MIT
"""Figures of running processes over HTTP, for Prometheus and compatible readers."""
