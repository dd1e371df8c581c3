# SPDX-License-Identifier: MIT
"""What is kept of bench/results/scans.json, which docs/decisions/0011-scans-of-resident-pages.md quotes."""

from taken import fields, grouped

TAKEN = {"scans": fields({"runs": grouped("threads", "variant")})}
BLOCKS = ()
