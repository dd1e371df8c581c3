// The bar that stays: the span, the search, the measure.
function startBar() {
  const mini = byId("mini"), text = byId("span-text"), all = byId("span-all"), query = byId("query");
  const resident = D.timeline.resident.some(Boolean) ? D.timeline.resident : D.timeline.highest;
  const options = Object.entries(MEASURES).filter(([name]) => hasMeasure(name))
    .map(([name, { label, title }], at) => [name, label, `${title} (${at + 1})`]);
  const redraw = choice(byId("measures"), options, () => state.measure, setMeasure);
  const select = byId("measure");
  fill(select, options.map(([name, label]) => el("option", { value: name }, label)));
  select.onchange = () => setMeasure(select.value);
  query.value = state.query;
  query.oninput = () => { state.query = query.value; changed("query"); };
  query.onkeydown = (event) => { if (event.key === "Enter") byId("where").scrollIntoView(); };
  all.onclick = setWholeSpan;
  drawMini(mini, resident);

  follow("bar", ["span"], () => {
    const from = EDGES[state.first], to = EDGES[state.last + 1];
    text.textContent = isWhole() ? `Whole run, ${seconds(to - from)}` : `${seconds(from)} to ${seconds(to)}`;
    all.hidden = isWhole();
    const x = (ns) => (ns - EDGES[0]) / (EDGES[BINS] - EDGES[0] || 1) * 148;
    const chosen = mini.lastChild;
    chosen.setAttribute("x", x(from));
    chosen.setAttribute("width", Math.max(2, x(to) - x(from)));
  });
  follow("bar", ["measure"], () => {
    redraw();
    select.value = state.measure;
  });
  follow("bar", ["query"], () => { if (query.value !== state.query) query.value = state.query; });
}

function drawMini(node, values) {
  let most = 1, path = "M0,30";
  for (const value of values) most = Math.max(most, value);
  values.forEach((value, at) => {
    path += `L${(at / Math.max(1, values.length - 1) * 148).toFixed(1)},${(28 - value / most * 25).toFixed(1)}`;
  });
  fill(node, svg("path", { d: path + "L148,30Z", class: "shape" }), svg("rect", { height: 30, class: "chosen" }));
  dragSpan(node, (event) => {
    const box = node.getBoundingClientRect();
    const part = Math.max(0, Math.min(0.9999, (event.clientX - box.left) / box.width));
    return binAt(EDGES[0] + part * (EDGES[BINS] - EDGES[0]));
  });
}

// A drag chooses a span, a click the whole run. binOf: of a pointer event.
function dragSpan(node, binOf) {
  let begin = null;
  node.addEventListener("pointerdown", (event) => {
    begin = binOf(event);
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (begin !== null) setSpan(Math.min(begin, binOf(event)), Math.max(begin, binOf(event)));
  });
  node.addEventListener("pointerup", (event) => {
    if (begin !== null && binOf(event) === begin) setWholeSpan();
    begin = null;
  });
}
