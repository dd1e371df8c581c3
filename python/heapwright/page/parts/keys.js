// The keyboard, the theme, and what is handed on.
const KEYS = [["/", "search"], ["1 – 7", "measure"], ["← →", "move the span; with Shift, its end"], ["[ ]", "phase before, after"],
  ["0", "whole run"], ["i", "other direction of the call paths"], ["arrows, Enter, Backspace", "in call paths, tables and pages"],
  ["c", "copy a link to this view"], ["d", "dark or light"], ["Esc", "undo: search, zoom, call site, span"], ["?", "these keys"]];

function moveSpan(by, isEnd) {
  if (isEnd) return setSpan(state.first, Math.max(state.first, state.last + by));
  const width = state.last - state.first;
  if (isWhole()) return by > 0 ? setSpan(0, Math.floor(BINS / 8)) : setSpan(BINS - 1 - Math.floor(BINS / 8), BINS - 1);
  const first = Math.max(0, Math.min(BINS - 1 - width, state.first + by));
  setSpan(first, first + width);
}

function movePhase(by) {
  const at = isWhole() ? (by > 0 ? -1 : D.phases.length) : D.phases.findLastIndex((phase) => binAt(phase[1]) <= state.first);
  const phase = D.phases[at + by];
  if (phase) setSpan(binAt(phase[1]), binAt(phase[2] - 1));
}

function undo() {
  if (state.query) { state.query = ""; changed("query"); }
  else if (state.root) { state.root = 0; changed("tree"); }
  else if (state.group >= 0) setGroup(-1);
  else setWholeSpan();
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    notice("Link copied");
  } catch {
    notice(location.href);
  }
}

function notice(text) {
  const node = byId("notice");
  node.textContent = text;
  node.hidden = false;
  setTimeout(() => { node.hidden = true; }, 2500);
  say(text);
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  changed("size");
}

function showKeys() {
  fill(byId("keys-table"), el("tbody", {}, KEYS.map(([key, what]) => el("tr", {}, el("td", {}, el("kbd", {}, key)), el("td", {}, what)))));
  byId("keys").showModal();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (event.target.matches?.("input, select, textarea") && event.target.type !== "range") {
    if (event.key === "Escape") { undo(); event.target.blur(); }
    return;
  }
  if (event.key.startsWith("Arrow") && event.target.matches?.("input[type=range], [role=region], .scroll")) return;
  const does = {
    "/": () => byId("query").focus(), "0": setWholeSpan, "[": () => movePhase(-1), "]": () => movePhase(1),
    i: () => { state.isUp = !state.isUp; state.root = 0; changed("tree"); }, c: copyLink, d: switchTheme, "?": showKeys, Escape: undo,
    ArrowLeft: () => moveSpan(-1, event.shiftKey), ArrowRight: () => moveSpan(1, event.shiftKey),
  }[event.key];
  const measure = Object.keys(MEASURES).filter(hasMeasure)[Number(event.key) - 1];
  if (does) does(); else if (measure) setMeasure(measure); else return;
  event.preventDefault();
}

function startKeys() {
  document.addEventListener("keydown", pressed);
  byId("theme").onclick = switchTheme;
  byId("show-keys").onclick = showKeys;
  byId("copy-link").onclick = copyLink;
}
