// What the answer on growth says of its call sites: a table, and of one of them the line over its live bytes.
const growth = { row: 0, plot: null };
const PER_SECOND = "/s";

const rateOf = (value) => (value > 0 ? "+" : "") + bytes(value) + PER_SECOND;
const isFollowed = (row) => row.site >= 0;
const hasSlope = (row) => row.isSure || row.halfWidth >= 0;

// Live bytes of one call site at each bin's end.
function seriesOfSite(site) {
  const found = new Float64Array(BINS + 1);
  for (let leaf = 0; leaf < D.counts.leaves; leaf++) if (leaves.site[leaf] === site) addLive(leaf, found);
  return found;
}

function median(values) {
  const order = [...values].sort((a, b) => a - b);
  return order.length ? (order[(order.length - 1) >> 1] + order[order.length >> 1]) / 2 : 0;
}

// The line through the middle of what it describes, and the two lines of its interval: null outside.
function lineOf(row, series) {
  const inside = EDGES.map((ns) => ns >= row.sinceNs && ns <= row.untilNs);
  const middle = (row.sinceNs + row.untilNs) / 2e9;
  const level = median(EDGES.flatMap((ns, at) => (inside[at] ? [series[at] - row.slope * (ns / 1e9 - middle)] : [])));
  const at = (slope) => EDGES.map((ns, place) => (inside[place] ? Math.max(0, level + slope * (ns / 1e9 - middle)) : null));
  const wide = row.halfWidth < 0 ? [] : [at(row.slope - row.halfWidth), at(row.slope + row.halfWidth)];
  const edges = wide.length ? EDGES.map((_, place) => (inside[place] ? wide.map((line) => line[place]) : null)) : [];
  return { line: at(row.slope), low: edges.map((two) => two && Math.min(...two)), high: edges.map((two) => two && Math.max(...two)) };
}

function drawGrowth() {
  const node = byId("growth-plot"), row = D.growth[growth.row], width = node.clientWidth;
  node.replaceChildren();
  drawGrowthTable();
  if (!row || !isFollowed(row)) {
    byId("growth-said").textContent = row ? "It is too small to be drawn among the call paths." : "";
    return;
  }
  const series = seriesOfSite(row.site), own = row.isSure ? lineOf(row, series) : { line: EDGES.map(() => null), low: [], high: [] };
  const hasBand = own.low.length > 0, tone = colour(row.slope > 0 ? "partly_free" : "live");
  const line = { stroke: tone, width: 2, points: { show: false }, dash: [7, 4] }, edge = { width: 0, points: { show: false } };
  growth.plot = new uPlot({
    width, height: width < 500 ? 210 : 260, padding: [12, 12, 0, 0], legend: { show: false },
    cursor: { show: false }, bands: hasBand ? [{ series: [3, 4], fill: colour("band") }] : [],
    scales: { x: { time: false, range: [EDGES[0] / 1e9, EDGES[BINS] / 1e9] }, y: { range: (u, low, high) => [0, (high || 1) * 1.08] } },
    axes: [{ ...AXIS(), grid: { show: false }, size: 26, gap: 6, space: 90, values: timeLabels },
      { ...AXIS(), size: 66, gap: 8, splits: byteSplits, values: byteLabels }],
    series: [{}, { stroke: colour("live"), width: 1.5, fill: colour("shade"), points: { show: false } }, line, ...(hasBand ? [edge, edge] : [])],
  }, [EDGES.map((ns) => ns / 1e9), [...series], own.line, ...(hasBand ? [own.high, own.low] : [])], node);
  sayGrowth(row);
}

function sayGrowth(row) {
  const wide = row.halfWidth < 0 ? "" : ` ± ${bytes(row.halfWidth)}${PER_SECOND} (95${NARROW}%)`;
  fill(byId("growth-said"), el("b", {}, sites[row.site].name), " ", sites[row.site].place, `: ${row.kind}`,
    hasSlope(row) && [", ", el("b", {}, rateOf(row.slope)), `${wide} from ${seconds(row.sinceNs)} to ${seconds(row.untilNs)}`],
    row.isSure ? "" : hasSlope(row) ? ", possibly by chance" : ", no growth", row.reason ? `; ${row.reason}` : "");
}

function drawGrowthTable() {
  const unit = unitOf("bytes", D.growth.map((row) => row.bytesAtEnd));
  fill(byId("growth-table"), el("thead", {}, el("tr", {}, heading("Call site", "text"), heading("kind", "text"), heading("growth"),
    heading("± 95" + NARROW + "%", "num wide"), heading(`live, ${unit.name}`))),
  el("tbody", {}, D.growth.map((row, at) => el("tr", { class: at === growth.row ? "chosen" : "", data: { at } },
    el("td", { class: "text name" }, el("button", { type: "button", class: "link", data: { at }, title: row.name }, row.name)),
    el("td", { class: "text nowrap" }, row.kind), number(hasSlope(row) ? rateOf(row.slope) : "–", row.isSure ? "" : "mute"),
    number(row.halfWidth >= 0 ? bytes(row.halfWidth) + PER_SECOND : "–", "mute wide"), number(inUnit(row.bytesAtEnd, unit))))));
}

function startGrowth() {
  byId("growth-shown").hidden = !D.growth.length;
  byId("growth-none").hidden = Boolean(D.growth.length);
  if (!D.growth.length) return;
  byId("growth-table").onclick = (event) => {
    const row = event.target.closest("tbody tr");
    if (!row) return;
    growth.row = Number(row.dataset.at);
    const { site } = D.growth[growth.row];
    drawGrowth();
    byId("growth-table").querySelector(`button[data-at="${growth.row}"]`).focus();
    if (site >= 0) setGroup(groupOfSite[site]);
  };
  // A call site that is chosen elsewhere is shown here too.
  follow("growth", ["group", "size"], () => {
    const at = D.growth.findIndex((row) => isFollowed(row) && groupOfSite[row.site] === state.group);
    if (at >= 0 && groupOfSite[D.growth[growth.row].site] !== state.group) growth.row = at;
    drawGrowth();
  });
}
