// Elements without HTML in text: what a program calls its functions is only ever text.
const byId = (id) => document.getElementById(id);

function put(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

function el(name, properties, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "style") for (const [name, text] of Object.entries(value)) node.style.setProperty(name, text);
    else if (key in node && typeof value !== "string") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  return put(node, children);
}

function svg(name, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return put(node, children);
}

const fill = (node, ...children) => { node.replaceChildren(); return put(node, children); };
const number = (text, extra = "") => el("td", { class: "num " + extra }, text);
const heading = (text, kind = "num", more = {}) => el("th", { class: kind, scope: "col", ...more }, text);

// What only a pointer can do; not on paper.
const hint = (text) => el("span", { class: "hint" }, text);

// A colour of the style sheet as canvases need it.
function colour(name) {
  const probe = byId("probe");
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

function say(text) { byId("said").textContent = text; }

// One of several, as radio buttons.
function choice(node, options, chosen, choose) {
  const choices = options.map(([value, label, title]) =>
    el("button", { type: "button", role: "radio", title, "aria-checked": String(value === chosen()), data: { value } }, label));
  fill(node, choices);
  node.onclick = (event) => {
    const value = event.target.closest("button")?.dataset.value;
    if (value !== undefined) choose(value);
  };
  return () => choices.forEach((one) => one.setAttribute("aria-checked", String(one.dataset.value === chosen())));
}

// A line without axes: 116 x 22, its own scale.
const SPARK = { width: 116, height: 22 };
function spark(values, span) {
  let most = 0, path = "";
  for (const value of values) most = Math.max(most, value);
  const step = Math.max(1, Math.ceil(values.length / SPARK.width)), last = Math.max(1, values.length - 1);
  for (let at = 0; at < values.length; at += step) {
    const y = SPARK.height - 2 - (most ? values[at] / most : 0) * (SPARK.height - 4);
    path += `${path ? "L" : "M"}${(at / last * SPARK.width).toFixed(1)},${y.toFixed(1)}`;
  }
  const chosen = span && svg("rect", { x: span[0] * SPARK.width, width: Math.max(1, (span[1] - span[0]) * SPARK.width),
    height: SPARK.height, class: "chosen" });
  return svg("svg", { width: SPARK.width, height: SPARK.height, "aria-hidden": "true", class: "spark" }, chosen,
    svg("path", { d: path || "M0,20" }));
}
