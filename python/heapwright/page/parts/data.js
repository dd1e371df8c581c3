// Reads the page's data: what packing.py and data.py wrote.
let D;  // the document
let BINS;  // of the time looked at
let EDGES;  // of the bins, in ns: one more than bins
const leaves = { node: [], site: [], rows: null };
const rows = { bin: null, calls: null, bytes: null, time: null, live: null };  // leaf by leaf; all but bin are sums from the begin on
const nodes = { parent: null, name: null, library: null };
let sites = [], pins = [], threadRows = [], latencyRows = [], slowRows = [], cells = null;
let siteOf = new Map();  // by the number that answers give it

async function unpacked(text) {
  let raw;
  if (Uint8Array.fromBase64) raw = Uint8Array.fromBase64(text);
  else {
    const letters = atob(text);
    raw = new Uint8Array(letters.length);
    for (let at = 0; at < letters.length; at++) raw[at] = letters.charCodeAt(at);
  }
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Numbers {
  constructor(raw, begin) { this.raw = raw; this.at = begin; }
  next() {
    let byte = this.raw[this.at++], value = byte & 127;
    for (let factor = 128; byte > 127; factor *= 128) {
      byte = this.raw[this.at++];
      value += (byte & 127) * factor;
    }
    return value;
  }
  signed() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}

function readTree(of) {
  const { nodes: nodeCount, leaves: leafCount, sites: siteCount } = D.counts;
  for (const key of Object.keys(nodes)) nodes[key] = new Int32Array(nodeCount);
  let from = of("nodes");
  for (let at = 0; at < nodeCount; at++) {
    nodes.parent[at] = from.next();
    nodes.name[at] = from.next();
    nodes.library[at] = from.next();
  }
  from = of("leaves");
  leaves.node = new Int32Array(leafCount);
  leaves.site = new Int32Array(leafCount);
  for (let at = 0; at < leafCount; at++) {
    leaves.node[at] = from.next();
    leaves.site[at] = from.next();
  }
  from = of("sites");
  for (let at = 0; at < siteCount; at++) {
    const [name, place, library, whole] = [0, 0, 0, 0].map(() => D.names[from.next()]);
    const known = from.next();
    sites.push({ name, place, library, whole });
    if (known) siteOf.set(known - 1, at);
  }
}

function readRows(from) {
  leaves.rows = new Int32Array(D.counts.leaves + 1);
  rows.bin = new Int32Array(D.counts.rows);
  for (const key of ["calls", "bytes", "time", "live"]) rows[key] = new Float64Array(D.counts.rows);
  for (let leaf = 0, at = 0; leaf < D.counts.leaves; leaf++) {
    const end = leaves.rows[leaf + 1] = at + from.next();
    let bin = 0, calls = 0, size = 0, time = 0, live = 0;
    for (; at < end; at++) {
      rows.bin[at] = bin += from.next();
      rows.calls[at] = calls += from.next();
      rows.bytes[at] = size += from.next();
      rows.time[at] = time += from.next();
      rows.live[at] = live += from.signed();
    }
  }
}

function readPins(from) {
  for (let scan = 0; scan < D.scanNs.length; scan++) {
    const found = new Float64Array(D.counts.leaves);
    for (let many = from.next(), leaf = 0; many > 0; many--) {
      leaf += from.next();
      found[leaf] = from.next();
    }
    pins.push(found);
  }
}

function readTable(from, names) {
  return Array.from({ length: from.next() }, () => Object.fromEntries(names.map((name) => [name, from.next()])));
}

// For each scan, of all cells: level, blocks, site + 1.
function readCells(from, raw) {
  const all = D.bands.reduce((sum, [, many]) => sum + many, 0), scans = D.scanNs.length;
  const part = (at) => raw.subarray(from.at + at * all, from.at + (at + 1) * all);
  cells = { all, levels: [], blocks: [], sites: [] };
  for (let scan = 0; scan < scans; scan++) cells.levels.push(part(scan));
  for (let scan = 0; scan < scans; scan++) cells.blocks.push(part(scans + scan));
  from.at += 2 * scans * all;
  for (let scan = 0; scan < scans; scan++) cells.sites.push(Int32Array.from({ length: all }, () => from.next()));
}

async function readData() {
  D = JSON.parse(byId("data").textContent);
  const raw = await unpacked(byId("packed").textContent);
  const of = (name) => new Numbers(raw, D.begins[name]);
  BINS = D.binEndNs.length;
  EDGES = [D.beginNs, ...D.binEndNs];
  readTree(of);
  readRows(of("paths"));
  readPins(of("pins"));
  threadRows = readTable(of("threads"), ["thread", "bin", "allocations", "releases", "bytes", "time"]);
  latencyRows = readTable(of("latency"), ["bin", "isRelease", "fromNs", "calls"]);
  slowRows = readTable(of("slow"), ["bin", "cause", "fromNs", "calls", "time"]);
  readCells(of("cells"), raw);
}
