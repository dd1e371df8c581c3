// What each call path did in a span, by measure. A span is its first and last bin.
const MEASURES = {
  live: { label: "Live", title: "Live at the end of the span", kind: "bytes",
    lead: "What the program holds at the end of the chosen span." },
  peak: { label: "Peak", title: "Live at the span’s highest", kind: "bytes",
    lead: "What it held at the end of the step of the span at which most was live." },
  growth: { label: "Growth", title: "Grown during the span", kind: "bytes",
    lead: "Live at the end less live at the begin of the span. Orange grew, blue shrank." },
  pinned: { label: "Pinned", title: "Free room that survivors keep", kind: "bytes",
    lead: "A page with one live block cannot be given back. Its free room counts for the call path with most bytes on the page." },
  bytes: { label: "Allocated", title: "Allocated during the span", kind: "bytes",
    lead: "All bytes asked for, whether or not they came back." },
  calls: { label: "Calls", title: "Allocations during the span", kind: "count",
    lead: "How often memory was asked for." },
  time: { label: "Time", title: "Time of allocations during the span", kind: "ns",
    lead: "How long the calls took that allocate." },
};

const hasMeasure = (name) =>
  name === "pinned" ? D.scanNs.length > 0 : name === "time" ? D.hasDurations && !D.isSampled : true;

// The last row of a leaf up to a bin, as rows number them (0: the begin); -1: there is none.
function rowAt(leaf, bin) {
  let low = leaves.rows[leaf] - 1, high = leaves.rows[leaf + 1];
  const before = low;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (rows.bin[middle] <= bin) low = middle; else high = middle;
  }
  return low === before ? -1 : low;
}

const sumAt = (column, leaf, bin) => {
  const at = rowAt(leaf, bin);
  return at < 0 ? 0 : column[at];
};

// Live bytes of all paths, at the begin and at each bin's end.
let liveTotals;
function addTotals() {
  liveTotals = new Float64Array(BINS + 1);
  for (let leaf = 0; leaf < D.counts.leaves; leaf++) addLive(leaf, liveTotals);
}

function addLive(leaf, totals) {
  for (let at = leaves.rows[leaf]; at < leaves.rows[leaf + 1]; at++) {
    const until = at + 1 < leaves.rows[leaf + 1] ? rows.bin[at + 1] : BINS + 1;
    for (let bin = rows.bin[at]; bin < until; bin++) totals[bin] += rows.live[at];
  }
}

function highestBin([first, last]) {
  let found = first;
  for (let bin = first; bin <= last; bin++) if (liveTotals[bin + 1] > liveTotals[found + 1]) found = bin;
  return found;
}

// The scan to show for a span: the last one in it, or the nearest to its end.
function scanOf([, last]) {
  const end = EDGES[last + 1];
  let found = 0;
  D.scanNs.forEach((time, scan) => {
    if (Math.abs(time - end) <= Math.abs(D.scanNs[found] - end)) found = scan;
  });
  return found;
}

// Of the span that was asked for last; several panels ask for the same.
const kept = { span: "", values: new Map() };
function valuesOf(measure, span) {
  if (kept.span !== span.join()) Object.assign(kept, { span: span.join(), values: new Map() });
  if (!kept.values.has(measure)) kept.values.set(measure, readValues(measure, span));
  return kept.values.get(measure);
}

function readValues(measure, span) {
  const [first, last] = span;
  if (measure === "pinned") return pins[scanOf(span)];
  const found = new Float64Array(D.counts.leaves);
  const bin = measure === "peak" ? highestBin(span) : last;
  const isLevel = measure === "live" || measure === "peak";
  const column = isLevel || measure === "growth" ? rows.live : rows[measure];
  for (let leaf = 0; leaf < found.length; leaf++) {
    found[leaf] = sumAt(column, leaf, bin + 1) - (isLevel ? 0 : sumAt(column, leaf, first));
  }
  return found;
}
