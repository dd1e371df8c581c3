// Memory over time: what the resident set is made of, with the kernel's figure as a line.
const LAYERS = {  // from the bottom up
  live: ["Live, requested", "blocks that the program holds"],
  rounding: ["Rounding up", "usable minus requested"],
  partly_free: ["Free, beside survivors", "free memory on pages with a live block"],
  free_pages: ["Free, empty pages", "pages of the heap without a live block"],
  allocator: ["Allocator’s own", "other pages of mappings that hold blocks"],
  own_mappings: ["Own mappings", "mapped by the program itself"],
  files: ["Files", "code and mapped files"],
  others: ["Everything else", "stacks, library data, the recorder"],
};
const memory = { plot: null, stacked: [], isQuiet: false, isLaidOut: false };

const layerNames = () => Object.keys(LAYERS).filter((name) => D.timeline.parts[name]);
const pointAt = (ns) => {
  let found = D.timeline.ns.findIndex((time) => time >= ns - 1);
  return found < 0 ? D.timeline.ns.length - 1 : found;
};

function stackLayers() {
  const sums = new Float64Array(D.timeline.ns.length);
  memory.stacked = layerNames().map((name) => {
    D.timeline.parts[name].forEach((value, at) => { sums[at] += value; });
    return Array.from(sums);
  });
}

const AXIS = () => ({
  stroke: colour("mute"), font: "12px system-ui, sans-serif", ticks: { show: false },
  grid: { stroke: colour("faint"), width: 1 },
});

const byteSplits = (u, axis, low, high) => {
  const unit = unitOf("bytes", [high]).factor, most = high / unit;
  const power = 10 ** Math.floor(Math.log10(most / 4 || 1));
  const step = [1, 2, 2.5, 5, 10].map((by) => by * power).find((by) => most / by <= 5) ?? power * 10;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step * unit);
};
const byteLabels = (u, splits) => {
  const unit = unitOf("bytes", [splits.at(-1) ?? 0]);
  return splits.map((value, at) => String(+(value / unit.factor).toPrecision(6)) + (at === splits.length - 1 ? " " + unit.name : ""));
};
const timeLabels = (u, splits) => splits.map((s) => (s === 0 ? "0" : seconds(s * 1e9).replace(/\.0+(?=\D)/, "")));

function drawMemory() {
  const node = byId("memory-plot"), names = layerNames(), t = D.timeline;
  node.replaceChildren();
  memory.isLaidOut = false;
  const hasLine = t.resident.some(Boolean);
  const width = node.clientWidth, height = width < 500 ? 230 : 310;
  const series = [{}, ...names.toReversed().map((name) => ({ width: 0, fill: colour(name), points: { show: false } }))];
  const data = [t.ns.map((ns) => ns / 1e9), ...memory.stacked.toReversed()];
  if (hasLine) {
    series.push({ stroke: colour("ink"), width: 1.5, points: { show: false } });
    data.push(t.resident);
  }
  memory.plot = new uPlot({
    width, height, padding: [14, 16, 0, 0], legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { setScale: false, x: true, y: false } },
    scales: { x: { time: false, range: [EDGES[0] / 1e9, EDGES[BINS] / 1e9] }, y: { range: (u, low, high) => [0, (high || 1) * 1.06] } },
    axes: [{ ...AXIS(), grid: { show: false }, size: 26, gap: 6, space: 90, values: timeLabels },
      { ...AXIS(), size: 66, gap: 8, splits: byteSplits, values: byteLabels }],
    series,
    hooks: { ready: [laidOut], setSelect: [selected], setCursor: [(u) => drawLayers(u.cursor.left >= 0 ? u.cursor.idx : null)], draw: [markPeak] },
  }, data, node);
}

// Where things lie is known only some time after the plot was made.
function laidOut() {
  memory.isLaidOut = true;
  showSelection();
  drawPhases();
}

function selected(u) {
  if (memory.isQuiet) return;
  const { left, width } = u.select;
  if (width < 3) return setWholeSpan();
  setSpan(binAt(u.posToVal(left, "x") * 1e9), binAt(u.posToVal(left + width, "x") * 1e9 - 1));
}

function showSelection() {
  if (!memory.isLaidOut) return;
  const u = memory.plot;
  memory.isQuiet = true;
  const left = u.valToPos(EDGES[state.first] / 1e9, "x"), right = u.valToPos(EDGES[state.last + 1] / 1e9, "x");
  const height = u.over.clientHeight;
  u.setSelect(isWhole() ? { left: 0, top: 0, width: 0, height: 0 } : { left, top: 0, width: right - left, height }, false);
  byId("memory-plot").classList.toggle("selected", !isWhole());
  memory.isQuiet = false;
}

function markPeak(u) {
  const at = pointAt(D.peakNs), scale = devicePixelRatio, c = u.ctx;
  const x = u.valToPos(D.peakNs / 1e9, "x", true), y = u.valToPos(D.timeline.highest[at], "y", true);
  const isRight = x > u.bbox.left + u.bbox.width * 0.7;
  c.save();
  c.fillStyle = c.strokeStyle = colour("paper");
  c.beginPath();
  c.arc(x, y, 3.2 * scale, 0, 7);
  c.fill();
  c.font = `600 ${12 * scale}px system-ui, sans-serif`;
  c.textAlign = isRight ? "right" : "left";
  c.lineWidth = 3.5 * scale;
  c.lineJoin = "round";
  const text = `peak, ${bytes(D.peakBytes)} live`, tx = x + (isRight ? -6 : 6) * scale;
  const ty = Math.max(y - 8 * scale, u.bbox.top + 12 * scale);
  c.strokeText(text, tx, ty);
  c.fillStyle = colour("ink");
  c.fillText(text, tx, ty);
  c.restore();
}

// The legend is the table. at: a point of the timeline; none: the end of the span.
function drawLayers(at) {
  const t = D.timeline, place = at ?? pointAt(EDGES[state.last + 1]);
  const isFromStart = state.first === 0, from = pointAt(EDGES[state.first]);
  const names = layerNames(), value = (name, point) => t.parts[name][point];
  const unit = unitOf("bytes", [t.resident[place], ...names.map((name) => value(name, place))]);
  const whole = names.reduce((sum, name) => sum + value(name, place), 0);
  const before = (column) => (isFromStart ? 0 : column[from]);
  const line = (name) => el("tr", {},
    el("td", { title: LAYERS[name][1] }, el("span", { class: "swatch " + name }), LAYERS[name][0]),
    number(inUnit(value(name, place), unit)),
    number(inUnit(value(name, place) - before(t.parts[name]), unit, true), "mute wide"),
    number(share(value(name, place), whole), "mute"));
  const foot = t.resident.some(Boolean) && el("tr", {},
    el("td", {}, el("span", { class: "swatch kernel" }), "Resident (kernel)"), number(inUnit(t.resident[place], unit)),
    number(inUnit(t.resident[place] - before(t.resident), unit, true), "mute wide"), number(""));
  fill(byId("layers"), el("thead", {}, el("tr", {}, heading(`At ${seconds(t.ns[place])}`, "text"), heading(unit.name),
    heading(isFromStart ? "since start" : `since ${seconds(EDGES[state.first])}`, "num wide"), heading("share"))),
  el("tbody", {}, names.toReversed().map(line)), el("tfoot", {}, foot));
}

function drawPhases() {
  const node = byId("phases"), whole = EDGES[BINS] - EDGES[0];
  node.hidden = !D.phases.length;
  if (!memory.isLaidOut) return;
  const left = memory.plot.over.offsetLeft, width = memory.plot.over.clientWidth;
  node.style.marginLeft = left + "px";
  node.style.width = width + "px";
  fill(node, D.phases.map(([name, begin, end], at) => {
    const part = (end - begin) / whole;
    const isChosen = !isWhole() && binAt(begin) === state.first && Math.abs(binAt(end - 1) - state.last) < 2;
    return el("button", { type: "button", data: { at }, class: isChosen ? "chosen" : "", title: `${name}, ${seconds(end - begin)}`,
      "aria-label": `Phase ${name}`,
      style: { left: (begin - EDGES[0]) / whole * 100 + "%", width: `calc(${part * 100}% - 2px)` } }, part * width > 30 ? name : "");
  }));
}

function startMemory() {
  stackLayers();
  follow("memory", ["size"], drawMemory);
  byId("phases").onclick = (event) => {
    const phase = D.phases[event.target.dataset.at];
    if (phase) setSpan(binAt(phase[1]), binAt(phase[2] - 1));
  };
  follow("memory", ["span"], () => {
    showSelection();
    drawLayers(null);
    drawPhases();
  });
}
