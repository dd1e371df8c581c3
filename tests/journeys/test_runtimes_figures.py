# SPDX-License-Identifier: MIT
"""What V8 and the JVM say themselves of the memory that they have from malloc is what the trace has."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import heapwright
import polars
import pytest
from conftest import command

BUFFERS = """
const kept = [];
function keepFrames() { for (let i = 0; i < 2000; i++) kept.push(Buffer.allocUnsafeSlow(30000)); }
function keepSamples() { for (let i = 0; i < 500; i++) kept.push(new Float64Array(8000)); }
function passing() { for (let i = 0; i < 5000; i++) Buffer.alloc(16384); }
keepFrames(); passing(); keepSamples();
gc(); gc();  // what is being swept counts until the next one
console.log(JSON.stringify(process.memoryUsage().arrayBuffers));
process.reallyExit(0);
"""
DIRECT = """
import java.nio.ByteBuffer;
import java.util.*;
import java.util.zip.Deflater;
public class Direct {
  static List<Object> kept = new ArrayList<>();
  static void buffers() { for (int i = 0; i < 2000; i++) kept.add(ByteBuffer.allocateDirect(40000)); }
  static void deflaters() { for (int i = 0; i < 50; i++) kept.add(new Deflater()); }
  public static void main(String[] words) { buffers(); deflaters(); }
}
"""
DEFLATER_BLOCKS = 6  # zlib's: its state, window, two tables, the pending output, the stream's
LIMIT_S = 120


def recorded(folder: Path, *words: str) -> tuple[heapwright.Trace, str]:
    trace = folder / "x.heapwright"
    line = [str(command), "record", "--quiet", "--force", "--output", str(trace), "--", *words]
    done = subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    return heapwright.open(trace), done.stdout


def live_through(trace: heapwright.Trace, function: str) -> tuple[int, int]:
    """Bytes and blocks that are live at the end, of stacks with this function."""
    symbols, columns = trace.symbols(), trace.stack_columns
    frames, parents = columns["frame"].tolist(), columns["parent"].tolist()
    found = [False]
    for parent, frame in zip(parents[1:], frames[1:], strict=True):
        is_it = frame < len(symbols) and any(function in one.function for one in symbols.locations(frame))
        found.append(found[parent] or is_it)
    blocks = polars.DataFrame(trace.table("block")).filter(~polars.col("is_freed"))
    of_it = [(size, found[stack]) for size, stack in blocks.select("size", "stack").iter_rows() if stack]
    return sum(size for size, is_it in of_it if is_it), sum(is_it for _, is_it in of_it)


def functions_of(trace: heapwright.Trace, least_bytes: int) -> set[str]:
    """The call sites of blocks that are live at the end, of so many bytes."""
    facts, sites = trace.facts(), trace.sites()
    large = range(len(sites))
    return {
        sites[site].location.function for site in large if facts.sites[site].live_at_end_bytes >= least_bytes
    }


@pytest.mark.parametrize("options", [["--perf-basic-prof"], ["--perf-prof"]], ids=["map", "dump"])
def test_v8_counts_as_much_in_its_buffers(tmp_path: Path, options: Sequence[str]) -> None:
    if shutil.which("node") is None:
        pytest.skip("needs node")
    (tmp_path / "buffers.js").write_text(BUFFERS)
    line = ["node", "--expose-gc", *options, "--interpreted-frames-native-stack", "buffers.js"]
    trace, said = recorded(tmp_path, *line)
    (Path("/tmp") / f"perf-{trace.metadata.process_id}.map").unlink(missing_ok=True)
    counted, _ = live_through(trace, "NodeArrayBufferAllocator")
    assert counted == pytest.approx(json.loads(said), rel=0.001)
    assert counted >= 2000 * 30000 + 500 * 64000
    assert {"keepFrames", "keepSamples"} <= functions_of(trace, 1 << 20)


def test_the_jvm_counts_as_much_in_direct_buffers(tmp_path: Path) -> None:
    if shutil.which("javac") is None:
        pytest.skip("needs a JDK")
    (tmp_path / "Direct.java").write_text(DIRECT)
    subprocess.run(["javac", "Direct.java"], cwd=tmp_path, check=True, timeout=LIMIT_S)
    options = "NativeMemoryTracking=detail +UnlockDiagnosticVMOptions +PrintNMTStatistics".split()
    trace, said = recorded(tmp_path, "java", *(f"-XX:{option}" for option in options), "Direct")
    rows = re.findall(
        r"Unsafe_AllocateMemory0[^\n]*\n(?:\[[^\n]*\n)*\s+\(malloc=(\d+)(KB)? type=\w+ #(\d+)\)", said
    )
    assert rows, said[-3000:]
    its_bytes = sum(int(size) * (1024 if unit else 1) for size, unit, _ in rows)
    its_blocks = sum(int(count) for *_, count in rows)
    counted, blocks = live_through(trace, "Unsafe_AllocateMemory0")
    assert its_bytes >= 2000 * 40000
    assert counted == pytest.approx(its_bytes, rel=0.002)  # with the JVM's headers of 16 bytes
    assert abs(blocks - its_blocks) <= 10
    zlibs, blocks = live_through(trace, "Deflater_init")
    assert blocks == 50 * DEFLATER_BLOCKS
    assert zlibs % 50 == 0
