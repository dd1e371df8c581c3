// What each call path did in a span, by measure. A span is its first and last bin.
const measure = (label, title, lead, kind = "bytes") => ({ label, title, lead, kind });
const MEASURES = {
  live: measure("Live", "Live at the end of the span",
    "What the program holds at the end of the selected span."),
  peak: measure("Peak", "Live at the span’s peak",
    "What it held at the end of the step with most live memory."),
  growth: measure("Growth", "Grown during the span",
    "Live at the end minus live at the begin of the span. Orange grew, blue shrank."),
  pinned: measure("Pinned", "Free memory pinned by survivors",
    "A page with a live block cannot be returned. Its free memory counts for the call path with most bytes on the page."),
  bytes: measure("Allocated", "Allocated during the span",
    "All bytes requested, whether freed or not."),
  calls: measure("Calls", "Allocations during the span",
    "Number of allocations.", "count"),
  time: measure("Time", "Time of allocations during the span",
    "Total time of allocating calls.", "ns"),
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
  // The bins end with the last heap call; what the last scan saw is what it left.
  if (last === BINS - 1) return D.scanNs.length - 1;
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
