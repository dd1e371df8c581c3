# SPDX-License-Identifier: MIT
"""The programs the recorder is measured on. All are deterministic and need no network."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

project = Path(__file__).resolve().parents[2]

json_script = """
import json
rows = [{"id": i, "name": "row %d" % i, "values": list(range(i % 20))} for i in range(SCALE)]
text = json.dumps(rows)
for _ in range(6 * REPEATS):
    back = json.loads(text)
"""

sql_script = """
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, item TEXT, cents INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < SCALE)
INSERT INTO orders SELECT i, 1 + (i * 7919) % 2000, 'item ' || ((i * 31) % 1009), (i * 37) % 9000 FROM n;
CREATE INDEX orders_by_item ON orders(item, cents);
SELECT item, length(group_concat(id || item)), max(cents) FROM orders GROUP BY item ORDER BY 3 DESC LIMIT 3;
SELECT count(*) FROM (SELECT upper(item) || id AS a FROM orders UNION SELECT lower(item) || id FROM orders);
UPDATE orders SET item = item || ' (sold)' WHERE id % 5 = 0;
"""
repeated_sql = sql_script[sql_script.index("SELECT item, length") : sql_script.index("UPDATE")]


@dataclass(frozen=True)
class Workload:
    name: str
    what: str
    line: list[str]
    threads: int = 1
    can_heaptrack_interpret: bool = True
    pairs: int = 0  # malloc/free pairs, where the program reports its own time per pair


def prepare(folder: Path, build: Path, scale: float, repeats: int = 1) -> list[Workload]:
    """Writes the inputs into `folder`.

    scale: 1 is a full run, smaller ones are for a look. repeats: makes the
    recordings longer with the same data, except for cc1plus.
    """
    sql = folder / "orders.sql"
    script_text = sql_script + repeated_sql * (repeats - 1)
    sql.write_text(script_text.replace("SCALE", str(int(300_000 * scale))))
    source = folder / "source.ii"
    command = [
        "g++",
        "-std=c++20",
        "-E",
        f"-I{project / 'src'}",
        str(project / "tests/programs/dump_trace.cpp"),
    ]
    subprocess.run([*command, "-o", str(source)], check=True)
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True, text=True)
    options = ["-quiet", "-O2", "-std=c++20", "-fpreprocessed", str(source), "-o", "/dev/null"]
    pairs = str(build / "programs/pairs")
    single, each = int(5_000_000 * scale) * repeats, int(400_000 * scale) * repeats
    # A file, because heaptrack cannot read an argument of many lines.
    script = folder / "rows.py"
    text = json_script.replace("SCALE", str(int(20_000 * scale))).replace("REPEATS", str(repeats))
    script.write_text(text)
    return [
        Workload("pairs", "malloc/free pairs, 7 calls deep", [pairs, str(single), "7", "1"], pairs=single),
        Workload(
            "pairs-16", "the same on 16 threads", [pairs, str(each), "7", "16"], threads=16, pairs=16 * each
        ),
        Workload("sqlite3", "an in-memory SQL script", ["sqlite3", ":memory:", f".read {sql}"]),
        Workload("python3", "JSON, PYTHONMALLOC=malloc", ["/usr/bin/python3", "-s", "-S", str(script)]),
        # heaptrack 1.4.0 ends with bad_alloc when it interprets this one.
        Workload(
            "cc1plus",
            "g++ -O2 on one C++ file",
            [compiler.stdout.strip(), *options],
            can_heaptrack_interpret=False,
        ),
    ]
