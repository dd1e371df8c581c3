# SPDX-License-Identifier: MIT
"""What python3 does in the tables of real programs: JSON out and in, and an index of it."""

PYTHON_LOAD = """
import json
rows = [{"id": i, "name": f"name {i}", "tags": [str(j) for j in range(i % 9)]} for i in range(40000)]
for _ in range(3):
    rows = json.loads(json.dumps(rows))
index = {}
for row in rows:
    index.setdefault(row["name"][-2:], []).append(dict(row))
print(len(index))
"""
