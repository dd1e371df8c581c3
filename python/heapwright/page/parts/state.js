// What the reader chose. Every panel is drawn from it, and the address holds it.
const state = { first: 0, last: 0, measure: "live", usual: "live", query: "", group: -1, isUp: false, isByLine: false, root: 0 };
const watchers = [];

// Calls draw when one of these parts of the state has changed: span, measure, query, group, tree, size, holders.
// panel: what it draws in; while that is out of sight, it is drawn when there is time.
function follow(panel, wants, draw) { watchers.push({ panel: byId(panel), wants, draw, isStale: false }); }

let pending = new Set(), isDue = false, rest = 0;
function changed(...parts) {
  for (const part of parts) pending.add(part);
  document.documentElement.dataset.settled = "no";
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(drawPending);
}

const NEAR = 80;  // pixels: what is so near is in sight
const isInSight = ({ top, bottom }) => top < innerHeight + NEAR && bottom > -NEAR;

function drawPending() {
  isDue = false;
  const parts = pending;
  pending = new Set();
  const began = performance.now();
  for (const watcher of watchers) watcher.isStale ||= watcher.wants.some((part) => parts.has(part));
  const stale = watchers.filter((watcher) => watcher.isStale);
  // All are looked at before one is drawn, which moves the others.
  const seen = stale.filter((watcher) => isInSight(watcher.panel.getBoundingClientRect()));
  for (const watcher of seen) drawOne(watcher);
  document.documentElement.dataset.step = (performance.now() - began).toFixed(1);
  clearTimeout(rest);
  rest = setTimeout(drawRest, 40);
}

function drawOne(watcher) {
  watcher.isStale = false;
  watcher.draw();
}

// One panel at a time, so that a key is never waited for long.
function drawRest() {
  const watcher = watchers.find((one) => one.isStale);
  if (watcher) {
    drawOne(watcher);
    rest = setTimeout(drawRest, 0);
    return;
  }
  writeAddress();
  if (!isDue) document.documentElement.dataset.settled = "yes";
}

// Everything that has changed, whether in sight or not.
function drawAtOnce() {
  for (const watcher of watchers) watcher.isStale ||= watcher.wants.some((part) => pending.has(part));
  pending = new Set();
  for (const watcher of watchers) if (watcher.isStale) drawOne(watcher);
}

const spanOf = () => [state.first, state.last];
const isWhole = () => state.first === 0 && state.last === BINS - 1;
const binAt = (ns) => {
  let low = 0, high = BINS - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (EDGES[middle + 1] <= ns) low = middle + 1; else high = middle;
  }
  return low;
};
const seconds = (ns) => duration(ns);

function setSpan(first, last) {
  first = Math.max(0, Math.min(BINS - 1, first));
  last = Math.max(first, Math.min(BINS - 1, last));
  if (first === state.first && last === state.last) return;
  Object.assign(state, { first, last });
  say(isWhole() ? "Whole run" : `${seconds(EDGES[first])} to ${seconds(EDGES[last + 1])}`);
  changed("span");
}
const setWholeSpan = () => setSpan(0, BINS - 1);

function setMeasure(measure) {
  if (!MEASURES[measure] || !hasMeasure(measure)) return;
  state.measure = measure;
  changed("measure");
}

function setGroup(group) {
  state.group = group;
  changed("group");
}

// Pages may not say where they are: the address is changed only where that is permitted.
function writeAddress() {
  const parts = new URLSearchParams();
  if (!isWhole()) parts.set("t", `${EDGES[state.first]}-${EDGES[state.last + 1]}`);
  if (state.measure !== state.usual) parts.set("m", state.measure);
  if (state.query) parts.set("q", state.query);
  if (state.isUp) parts.set("up", "1");
  if (state.isByLine) parts.set("line", "1");
  if (state.group >= 0) parts.set("s", groups[state.group].name);
  const text = parts.toString();
  if (!text && !location.hash.includes("=")) return;
  try { history.replaceState(null, "", text ? "#" + text : location.pathname + location.search); } catch { /* refused */ }
}

function readAddress() {
  if (!location.hash.includes("=")) return;
  const parts = new URLSearchParams(location.hash.slice(1));
  const span = (parts.get("t") ?? "").split("-").map(Number);
  if (span.length === 2 && span.every(Number.isFinite)) {
    state.first = binAt(span[0]);
    state.last = Math.max(state.first, binAt(span[1] - 1));
  }
  if (MEASURES[parts.get("m")] && hasMeasure(parts.get("m"))) state.measure = parts.get("m");
  state.query = parts.get("q") ?? "";
  state.isUp = parts.get("up") === "1";
  state.isByLine = parts.get("line") === "1";
  if (state.isByLine) groupSites(true);
  state.group = groups.findIndex((group) => group.name === parts.get("s"));
}
