# SPDX-License-Identifier: MIT
"""What is wrong whatever a recording says: few checks, each exact by type."""
