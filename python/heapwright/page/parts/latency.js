// How long calls of the span took, from buckets of an eighth of a power of two.
const QUANTILES = [["p50", 0.5], ["p99", 0.99], ["p99.9", 0.999], ["p99.99", 0.9999]];
const latency = { plot: null };

// Calls by the time they took, of the span: {from, counts, calls}.
function latencyOf(isRelease) {
  const counts = new Map();
  for (const row of latencyRows) {
    if (row.isRelease === isRelease && row.bin > state.first && row.bin <= state.last + 1) {
      counts.set(row.fromNs, (counts.get(row.fromNs) ?? 0) + row.calls);
    }
  }
  const from = [...counts.keys()].sort((a, b) => a - b);
  return { from, counts: from.map((ns) => counts.get(ns)), calls: from.reduce((sum, ns) => sum + counts.get(ns), 0) };
}

// A bucket's end: what its calls take at most.
const bucketEnd = (ns) => (ns < 8 ? ns + 1 : ns + 2 ** (Math.floor(Math.log2(ns)) - 3));

function quantile(of, part) {
  let below = 0;
  for (let at = 0; at < of.from.length; at++) {
    below += of.counts[at];
    if (below >= part * of.calls) return bucketEnd(of.from[at]);
  }
  return 0;
}

// The share of calls that takes at least so long, at each of these times.
function sharesAbove(of, times) {
  let left = of.calls, at = 0;
  return times.map((ns) => {
    for (; at < of.from.length && of.from[at] < ns; at++) left -= of.counts[at];
    return left > 0 ? left / of.calls : null;
  });
}

const decades = (low, high) => {
  const found = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power++) found.push(10 ** power);
  return found;
};
const oneIn = (part) => (part >= 1 ? "all" : `1 in ${count(Math.round(1 / part))}`.replace(/\.00?(?=\D)/, ""));

function drawLatency() {
  const kinds = [["Allocate", latencyOf(0), "live"], ["Free", latencyOf(1), "partly_free"]].filter(([, of]) => of.calls > 0);
  drawQuantiles(kinds);
  const node = byId("latency-plot");
  node.replaceChildren();
  if (!kinds.length) return drawCauseTable(causesOf());
  const times = [...new Set(kinds.flatMap(([, of]) => of.from))].sort((a, b) => a - b);
  times.push(bucketEnd(times.at(-1)));
  const least = Math.min(...kinds.map(([, of]) => 1 / of.calls));
  const width = node.clientWidth, height = width < 500 ? 230 : 270, size = width < 500 ? 84 : 96;
  const range = [Math.max(1, times[0]) / 1.5, times.at(-1) * 1.5];
  latency.plot = new uPlot({
    width, height, padding: [10, 10, 0, 0], legend: { show: false }, cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: false, distr: 3, range }, y: { distr: 3, range: [least / 2, 1.2] } },
    axes: [{ ...AXIS(), size: 26, splits: (u, axis, low, high) => decades(low, high), values: (u, splits) => splits.map((ns) => (ns === null ? "" : duration(ns).replace(/\.0+(?=\D)/, ""))) },
      { ...AXIS(), size, splits: (u, axis, low, high) => decades(low, Math.min(1, high)), values: (u, splits) => splits.map(oneIn), filter: (u, splits) => splits }],
    series: [{}, ...kinds.map(([label, , name]) => ({ label, stroke: colour(name), width: 2, points: { show: false }, paths: uPlot.paths.stepped({ align: -1 }) }))],
    hooks: { setCursor: [(u) => describeLatency(u, kinds)] },
  }, [times, ...kinds.map(([, of]) => sharesAbove(of, times))], node);
  describeLatency(latency.plot, kinds);
  drawCauses(range, size);
}

function describeLatency(u, kinds) {
  const at = u.cursor.left >= 0 ? u.cursor.idx : null;
  fill(byId("latency-said"), kinds.map(([label, , name], number) => {
    const part = at === null ? null : u.data[number + 1][at];
    return el("span", { class: "key" }, el("span", { class: "swatch " + name }), label,
      at === null ? "" : part === null ? ": none" : `: ${oneIn(part)}`);
  }), at === null ? "" : el("span", {}, ` took ${duration(u.data[0][at])} or longer`));
}

function drawQuantiles(kinds) {
  fill(byId("quantiles"), el("thead", {}, el("tr", {}, heading("At most", "text"), heading("calls"),
    QUANTILES.map(([name]) => heading(name, name === "p99.9" ? "num wide" : "num")), heading("longest"))),
  el("tbody", {}, kinds.length ? kinds.map(([label, of]) => el("tr", {}, el("td", {}, label), number(count(of.calls)),
    QUANTILES.map(([name, part]) => number(duration(quantile(of, part)), name === "p99.9" ? "wide" : "")),
    number(duration(quantile(of, 1)))))
    : el("tr", {}, el("td", { colSpan: 7 }, "No calls in this span."))));
}

function startLatency() {
  if (!D.hasDurations || D.isSampled || !latencyRows.length) return;
  byId("latency-shown").hidden = false;
  byId("latency-none").hidden = true;
  follow("latency", ["span", "size"], drawLatency);
}
