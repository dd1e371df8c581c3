// Call paths by the chosen measure. Boxes are buttons; a chain of single callees is one box.
const BOX = { height: 24, least: 2.5, labelled: 28, chain: 8, most: 700 };
const icicle = { main: null, sites: null, boxes: [], sums: null };

const treeOf = () => (state.isUp ? (icicle.sites ??= treeFromSites()) : (icicle.main ??= treeFromMain()));
const labelOf = (tree, node) => tree.label[node] + (tree.place[node] ? " " + tree.place[node] : "");

function matcher() {
  const query = state.query.trim().toLowerCase();
  if (!query) return null;
  return (...texts) => texts.some((text) => text.toLowerCase().includes(query));
}

// Boxes of what is below `root`, wide enough to be seen: {node, chain, x, width, depth, isHit, isUnderHit}.
function layOut(tree, { weight }, root, pixels, matches) {
  const boxes = [];
  const above = [];
  for (let node = tree.parent[root]; node >= 0; node = tree.parent[node]) above.unshift(node);
  above.forEach((node, depth) => boxes.push({ node, chain: [node], x: 0, width: 1, depth, isAbove: true }));
  const whole = weight[root];
  let hits = 0;
  const place = (node, x, depth, isUnderHit) => {
    const width = weight[node] / whole;
    if (width * pixels < BOX.least || boxes.length >= BOX.most) return;
    const chain = [node];
    let end = node;
    for (;;) {
      const only = soleChild(tree, weight, end);
      if (node === 0 || only < 0 || chain.length >= BOX.chain) break;
      chain.push(end = only);
    }
    const isHit = Boolean(matches) && chain.some((at) => matches(labelOf(tree, at), tree.library[at]));
    if (isHit && !isUnderHit) hits += weight[node];
    boxes.push({ node: end, chain, x, width, depth, isHit, isUnderHit });
    const inner = tree.childrenOf(end).filter((at) => weight[at] > 0).sort((a, b) => weight[b] - weight[a]);
    for (const child of inner) {
      place(child, x, depth + 1, isUnderHit || isHit);
      x += weight[child] / whole;
    }
  };
  if (whole > 0) place(root, 0, above.length, false);
  return { boxes, hits };
}

function soleChild(tree, weight, node) {
  for (let child = tree.firstChild[node]; child >= 0; child = tree.nextSibling[child]) {
    if (weight[child] >= weight[node] * 0.998 && weight[child] > 0) return child;
  }
  return -1;
}

function drawIcicle() {
  const node = byId("icicle"), tree = treeOf(), measure = MEASURES[state.measure], format = FORMATS[measure.kind];
  const sums = icicle.sums = tree.sum(valuesOf(state.measure, spanOf()));
  if (state.root >= tree.parent.length || !sums.weight[state.root]) state.root = 0;
  const pixels = node.clientWidth || 800;
  const { boxes, hits } = layOut(tree, sums, state.root, pixels, matcher());
  icicle.boxes = boxes;
  const depth = boxes.reduce((most, box) => Math.max(most, box.depth), 0);
  node.style.height = (depth + 1) * BOX.height + "px";
  fill(node, boxes.length ? boxes.map((box, at) => boxOf(tree, sums, box, at, pixels, format))
    : el("p", { class: "mute" }, "Nothing in this span."));
  drawCrumb(tree, sums, hits, format);
}

function boxOf(tree, sums, box, at, pixels, format) {
  const value = sums.value[box.node], isWide = box.width * pixels > BOX.labelled;
  const names = box.chain.map((node) => labelOf(tree, node));
  const text = box.node === 0 ? `All, ${format(sums.value[0])}` : names.join(" › ");
  const isGrowth = state.measure === "growth" && !box.isAbove;
  const kinds = ["box", box.isAbove ? "above" : box.depth % 2 ? "odd" : "even", isGrowth && (value >= 0 ? "grew" : "shrank"),
    state.query.trim() && (box.isHit ? "hit" : box.isUnderHit ? "" : "missed"),
    box.chain.some((node) => tree.group[node] >= 0 && tree.group[node] === state.group) && "chosen"];
  return el("button", {
    type: "button", class: kinds.filter(Boolean).join(" "), role: "treeitem", tabIndex: at === 0 ? 0 : -1, data: { at },
    title: `${names.join("\n")}\n${format(value)}, ${share(sums.weight[box.node], sums.weight[0])}`,
    "aria-level": String(box.depth + 1), "aria-label": `${names.join(", ")}: ${format(value)}`,
    style: { left: box.x * 100 + "%", width: box.width * 100 + "%", top: box.depth * BOX.height + "px" },
  }, isWide ? el("span", {}, text) : "");
}

function drawCrumb(tree, sums, hits, format) {
  const query = state.query.trim();
  byId("hits").hidden = !query;
  if (query) {
    byId("hits").textContent = hits ? `${share(hits, sums.weight[state.root])}, shown below (Enter)` : "no call path has it";
    fill(byId("crumb"), el("b", {}, share(hits, sums.weight[state.root])), ` of what is shown has “${query}” in its path`);
  } else if (state.root) {
    fill(byId("crumb"), el("b", {}, tree.label[state.root]), `: ${format(sums.value[state.root])}, `,
      `${share(sums.weight[state.root], sums.weight[0])} of all. Esc goes back.`);
  } else fill(byId("crumb"), "\u00a0");
}

function openBox(box) {
  const tree = treeOf(), group = box.chain.map((node) => tree.group[node]).find((at) => at >= 0);
  const isSite = tree.group[box.node] >= 0;
  if (group !== undefined && isSite) setGroup(state.group === group ? -1 : group);
  if (isSite && box.chain.length === 1 && tree.firstChild[box.node] < 0) return;
  const to = box.chain[0];
  state.root = to === state.root ? Math.max(0, tree.parent[to]) : to;
  changed("tree");
}

// Arrows go from box to box as they lie.
function nextBox(boxes, from, key) {
  const box = boxes[from], middle = box.x + box.width / 2;
  const holds = (other) => other.x <= middle && other.x + other.width >= middle;
  const row = boxes.map((other, at) => [other, at]).filter(([other]) => other.depth === box.depth);
  if (key === "ArrowDown") return boxes.findIndex((other) => other.depth === box.depth + 1 && other.x >= box.x - 1e-9);
  if (key === "ArrowUp") return boxes.findIndex((other) => other.depth === box.depth - 1 && holds(other));
  if (key === "ArrowRight") return row.find(([other]) => other.x > box.x + 1e-9)?.[1] ?? -1;
  return row.findLast(([other]) => other.x < box.x - 1e-9)?.[1] ?? -1;
}

function startIcicle() {
  const node = byId("icicle");
  const directions = choice(byId("direction"), [["main", "From main"], ["site", "From the call site"]],
    () => (state.isUp ? "site" : "main"), (value) => { state.isUp = value === "site"; state.root = 0; changed("tree"); });
  const grouping = choice(byId("grouping"), [["function", "Functions"], ["line", "Lines"]],
    () => (state.isByLine ? "line" : "function"), (value) => regroup(value === "line"));
  const boxAt = (event) => event.target.closest?.(".box")?.dataset.at;
  node.onclick = (event) => {
    const at = boxAt(event);
    if (at !== undefined) openBox(icicle.boxes[at]);
  };
  node.onkeydown = (event) => {
    const at = boxAt(event);
    if (at === undefined) return;
    if (event.key === "Backspace") {
      state.root = Math.max(0, treeOf().parent[state.root]);
      changed("tree");
    } else if (event.key.startsWith("Arrow")) {
      node.querySelector(`[data-at="${nextBox(icicle.boxes, Number(at), event.key)}"]`)?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  follow("where", ["span", "measure", "query", "group", "tree", "size"], () => {
    byId("where-title").textContent = MEASURES[state.measure].title;
    byId("where-lead").textContent = MEASURES[state.measure].lead
      + (state.measure === "pinned" ? ` As the scan at ${seconds(D.scanNs[scanOf(spanOf())])} saw it.` : "");
    drawIcicle();
    directions();
    grouping();
  });
}

function regroup(isByLine) {
  const old = state.group >= 0 ? groups[state.group].sites[0] : -1;
  state.isByLine = isByLine;
  groupSites(isByLine);
  state.group = old >= 0 ? groupOfSite[old] : -1;
  icicle.main = icicle.sites = null;
  state.root = 0;
  changed("tree", "group");
}
