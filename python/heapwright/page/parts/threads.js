// Which threads used the heap in the span, and when.
function threadSums() {
  const found = new Map();
  for (const row of threadRows) {
    let sums = found.get(row.thread);
    if (!sums) {
      sums = { thread: row.thread, allocations: 0, releases: 0, bytes: 0, time: 0, calls: new Float64Array(BINS + 1) };
      found.set(row.thread, sums);
    }
    sums.calls[row.bin] += row.allocations + row.releases;
    if (row.bin <= state.first || row.bin > state.last + 1) continue;
    for (const name of ["allocations", "releases", "bytes", "time"]) sums[name] += row[name];
  }
  return [...found.values()].sort((a, b) => b.allocations + b.releases - a.allocations - a.releases);
}

const SHOWN_THREADS = 16;

function drawThreads() {
  const all = threadSums(), length = EDGES[BINS] - EDGES[0] || 1;
  const span = isWhole() ? null : [(EDGES[state.first] - EDGES[0]) / length, (EDGES[state.last + 1] - EDGES[0]) / length];
  const size = unitOf("bytes", all.map((row) => row.bytes)), time = unitOf("ns", all.map((row) => row.time));
  const hasTime = hasMeasure("time"), hasFrees = all.some((row) => row.releases);
  fill(byId("thread-table"), el("thead", {}, el("tr", {}, heading("Thread", "text"), heading("calls over time", "text"),
    heading("allocations"), hasFrees && heading("frees", "num wide"), heading(`bytes, ${size.name}`), hasTime && heading(`in the allocator, ${time.name}`, "num wide"))),
  el("tbody", {}, all.slice(0, SHOWN_THREADS).map((row) => el("tr", {}, el("td", { class: "text name" }, D.threads[row.thread] ?? `#${row.thread}`),
    el("td", {}, spark(row.calls, span)), number(count(row.allocations)), hasFrees && number(count(row.releases), "wide"),
    number(inUnit(row.bytes, size)), hasTime && number(inUnit(row.time, time), "wide")))));
  byId("thread-rest").textContent = all.length > SHOWN_THREADS ? `and ${count(all.length - SHOWN_THREADS)} more threads` : "";
}

function startThreads() {
  follow("threads", ["span"], drawThreads);
}
