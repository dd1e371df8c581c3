// Memory over time: what the resident set is made of, with the kernel's figure as a line, or what call sites hold.
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
const memory = { plot: null, stack: null, isOfSites: false, isQuiet: false, isLaidOut: false };

const pointAt = (ns) => {
  const found = memory.stack.ns.findIndex((time) => time >= ns - 1);
  return found < 0 ? memory.stack.ns.length - 1 : found;
};

// What is stacked: from the bottom up. line: the kernel's figure; none: where it was not recorded, and of call sites.
function stackOfCauses() {
  const t = D.timeline, hasLine = t.resident.some(Boolean);
  const names = Object.keys(LAYERS).filter((name) => t.parts[name]);
  return { ns: t.ns, highest: t.highest, line: hasLine ? t.resident : null,
    layers: names.map((name) => ({ tone: name, label: LAYERS[name][0], about: LAYERS[name][1], values: t.parts[name] })) };
}

// The call sites that held most at some time, by that; the others are one layer.
function stackOfSites() {
  const tones = Object.keys(LAYERS), most = (group) => seriesOf(group).reduce((high, value) => Math.max(high, value), 0);
  const ranked = groups.map((group) => ({ group, high: most(group) })).filter(({ high }) => high > 0).sort((a, b) => b.high - a.high);
  const shown = ranked.slice(0, tones.length - 1);
  const layers = shown.map(({ group }, at) => ({ tone: tones[at], label: group.name, about: group.place, values: seriesOf(group), group }));
  if (ranked.length > shown.length) {
    const rest = Float64Array.from(liveTotals, (value, at) => layers.reduce((left, { values }) => left - values[at], value));
    layers.push({ tone: tones.at(-1), label: "Other call sites", about: `${ranked.length - shown.length} call sites`, values: rest });
  }
  return { ns: EDGES, highest: liveTotals, line: null, layers };
}

function stacked() {
  const sums = new Float64Array(memory.stack.ns.length);
  return memory.stack.layers.map(({ values }) => {
    values.forEach((value, at) => { sums[at] += value; });
    return Array.from(sums);
  });
}

function stackLayers() { memory.stack = memory.isOfSites ? stackOfSites() : stackOfCauses(); }

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
  const node = byId("memory-plot"), { ns, layers, line } = memory.stack;
  node.replaceChildren();
  memory.isLaidOut = false;
  const width = node.clientWidth, height = width < 500 ? 230 : 310;
  const series = [{}, ...layers.toReversed().map(({ tone }) => ({ width: 0, fill: colour(tone), points: { show: false } }))];
  const data = [ns.map((time) => time / 1e9), ...stacked().toReversed()];
  if (line) {
    series.push({ stroke: colour("ink"), width: 1.5, points: { show: false } });
    data.push(line);
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
  const x = u.valToPos(D.peakNs / 1e9, "x", true), y = u.valToPos(memory.stack.highest[at], "y", true);
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

// The legend is the table. at: a point of the stack; none: the end of the span.
function drawLayers(at) {
  const { ns, layers, line } = memory.stack, place = at ?? pointAt(EDGES[state.last + 1]);
  const isFromStart = state.first === 0, from = pointAt(EDGES[state.first]);
  const unit = unitOf("bytes", [line ? line[place] : 0, ...layers.map(({ values }) => values[place])]);
  const whole = layers.reduce((sum, { values }) => sum + values[place], 0);
  const cells = (values) => [number(inUnit(values[place], unit)),
    number(inUnit(values[place] - (isFromStart ? 0 : values[from]), unit, true), "mute wide")];
  const row = ({ tone, label, about, values, group }) => el("tr", {},
    el("td", { class: group ? "site" : "", title: group ? `${label}\n${about}` : about }, el("span", { class: "swatch " + tone }), label),
    cells(values), number(share(values[place], whole), "mute"));
  const foot = line && el("tr", {}, el("td", {}, el("span", { class: "swatch kernel" }), "Resident (kernel)"), cells(line), number(""));
  fill(byId("layers"), el("thead", {}, el("tr", {}, heading(`At ${seconds(ns[place])}`, "text"), heading(unit.name),
    heading(isFromStart ? "since start" : `since ${seconds(EDGES[state.first])}`, "num wide"), heading("share"))),
  el("tbody", {}, layers.toReversed().map(row)), el("tfoot", {}, foot));
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
  const kinds = [["causes", "By cause", "what the resident memory is made of"], ["sites", "By call site", "what call sites hold"]];
  const redraw = choice(byId("memory-layers"), kinds, () => (memory.isOfSites ? "sites" : "causes"), (value) => {
    memory.isOfSites = value === "sites";
    redraw();
    changed("layers");
  });
  const restack = () => { stackLayers(); drawMemory(); drawLayers(null); };
  follow("memory", ["layers"], restack);
  follow("memory", ["tree"], () => { if (memory.isOfSites) restack(); });
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
