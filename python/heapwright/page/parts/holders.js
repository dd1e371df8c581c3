// Holders and what they retain, as boxes; the table has what is behind the chosen one.
const HELD_FORMATS = { bytes, blocks: count };
const HELD_ROWS = 15;
const holders = { tree: null, boxes: [], root: 0, measure: "bytes" };

function treeOfHolders() {
  const texts = D.held.texts, tree = { parent: [], label: [], place: [], library: [], group: [], firstChild: [], nextSibling: [],
    bytes: [], blocks: [], childrenOf: Tree.prototype.childrenOf };
  D.held.rows.forEach(([parent, name, place, library, size, blocks], node) => {
    const row = { parent: node ? parent : -1, label: node ? texts[name] : "All", place: texts[place], library: texts[library],
      group: -1, firstChild: -1, nextSibling: -1, bytes: size, blocks };
    for (const [key, value] of Object.entries(row)) tree[key].push(value);
    if (!node) return;
    tree.nextSibling[node] = tree.firstChild[parent];
    tree.firstChild[parent] = node;
  });
  return tree;
}

// From the holder to the node.
function pathTo(tree, node) {
  const path = [];
  for (; node > 0; node = tree.parent[node]) path.unshift(node);
  return path;
}

function goToHolder(node) {
  holders.root = node;
  say(node ? pathTo(holders.tree, node).map((at) => holders.tree.label[at]).join(", then ") : "All holders");
  changed("holders");
}

function drawHolders() {
  const tree = holders.tree, weight = tree[holders.measure], format = HELD_FORMATS[holders.measure];
  if (!weight[holders.root]) holders.root = 0;
  const node = byId("holders"), pixels = node.clientWidth || 800;
  const { boxes } = layOut(tree, { weight }, holders.root, pixels, matcher());
  holders.boxes = boxes;
  const hadFocus = node.contains(document.activeElement);
  node.style.height = (boxes.reduce((most, box) => Math.max(most, box.depth), 0) + 1) * BOX.height + "px";
  const query = state.query.trim();
  fill(node, boxes.length ? boxes.map((box, at) => heldBox(tree, weight, box, at, pixels, format, query))
    : el("p", { class: "mute" }, "The snapshot has no block."));
  if (hadFocus) node.querySelector(`[data-at="${boxes.findIndex((box) => box.chain[0] === holders.root)}"]`)?.focus();
  drawHeldPath(tree, weight, format);
  drawHeldTable(tree, weight, format);
}

function heldBox(tree, weight, box, at, pixels, format, query) {
  const names = box.chain.map((node) => labelOf(tree, node));
  const text = box.node === 0 ? `All, ${format(weight[0])}` : names.join(" › ");
  const kinds = ["box", box.isAbove ? "above" : box.depth % 2 ? "odd" : "even", query && (box.isHit ? "hit" : box.isUnderHit ? "" : "missed")];
  return el("button", {
    type: "button", class: kinds.filter(Boolean).join(" "), role: "treeitem", tabIndex: at === 0 ? 0 : -1, data: { at },
    title: `${names.join("\n")}\n${format(weight[box.node])}, ${share(weight[box.node], weight[0])}`,
    "aria-level": String(box.depth + 1), "aria-label": `${names.join(", ")}: ${format(weight[box.node])}`,
    style: { left: box.x * 100 + "%", width: box.width * 100 + "%", top: box.depth * BOX.height + "px" },
  }, box.width * pixels > BOX.labelled ? el("span", {}, text) : "");
}

// The way from the holder, each step a button that goes there.
function drawHeldPath(tree, weight, format) {
  const step = (node) => el("button", { type: "button", class: "link", data: { node } }, tree.label[node]);
  const path = pathTo(tree, holders.root);
  if (!path.length) fill(byId("held-path"), "\u00a0");
  else fill(byId("held-path"), step(0), path.map((node) => [" › ", step(node)]),
    `: ${format(weight[holders.root])}, ${share(weight[holders.root], weight[0])} of all`);
}

function drawHeldTable(tree, weight, format) {
  const inner = tree.childrenOf(holders.root).sort((a, b) => weight[b] - weight[a]);
  const unit = unitOf("bytes", inner.map((node) => tree.bytes[node]));
  const own = weight[holders.root] - inner.reduce((sum, node) => sum + weight[node], 0);
  const rows = inner.slice(0, HELD_ROWS).map((node) => el("tr", {},
    el("td", {}, el("button", { type: "button", class: "link", data: { node } }, tree.label[node]), " ",
      el("span", { class: "mute" }, tree.place[node] || tree.library[node])),
    number(inUnit(tree.bytes[node], unit)), number(share(weight[node], weight[0])), number(count(tree.blocks[node]))));
  const rest = inner.slice(HELD_ROWS);
  const sum = (nodes, values) => nodes.reduce((all, node) => all + values[node], 0);
  if (rest.length) rows.push(el("tr", {}, el("td", { class: "mute" }, `${grouped(rest.length)} more`),
    number(inUnit(sum(rest, tree.bytes), unit)), number(share(sum(rest, weight), weight[0])), number(count(sum(rest, tree.blocks)))));
  const title = holders.root ? `Behind ${tree.label[holders.root]}` : "Holder";
  fill(byId("held-table"), el("thead", {}, el("tr", {}, heading(title, "text"), heading(`retained${unit.name ? ", " + unit.name : ""}`),
    heading("share"), heading("blocks"))), el("tbody", {}, rows),
  own > 0 && inner.length ? el("tfoot", {}, el("tr", {}, el("td", {}, "itself, and small ones"),
    el("td", { class: "num", colSpan: 3 }, format(own)))) : "");
}

function startHolders() {
  if (!D.held) return;
  holders.tree = treeOfHolders();
  byId("held-lead").append(` Taken at ${seconds(D.held.ns - D.beginNs)}.`);
  const node = byId("holders");
  const measures = choice(byId("held-measure"), [["bytes", "Bytes"], ["blocks", "Blocks"]], () => holders.measure,
    (value) => { holders.measure = value; changed("holders"); });
  const opened = (event) => {
    const to = event.target.closest?.("[data-node]")?.dataset.node;
    if (to !== undefined) goToHolder(Number(to));
  };
  byId("held-path").onclick = byId("held-table").onclick = opened;
  node.onclick = (event) => {
    const at = event.target.closest?.(".box")?.dataset.at;
    if (at === undefined) return;
    const to = holders.boxes[at].chain[0];
    goToHolder(to === holders.root ? Math.max(0, holders.tree.parent[to]) : to);
  };
  node.onkeydown = (event) => {
    const at = event.target.closest?.(".box")?.dataset.at;
    if (at === undefined) return;
    if (event.key === "Backspace") goToHolder(Math.max(0, holders.tree.parent[holders.root]));
    else if (event.key.startsWith("Arrow")) node.querySelector(`[data-at="${nextBox(holders.boxes, Number(at), event.key)}"]`)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  follow("held", ["query", "size", "holders"], () => {
    drawHolders();
    measures();
  });
  changed("holders");
}
