# SPDX-License-Identifier: MIT
"""Two moments of one process: what grew between them, site by site."""
