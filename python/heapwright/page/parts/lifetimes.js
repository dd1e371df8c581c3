// Size by lifetime, a field for two half-decades; the last column never came back. Of the whole run.
function shortTime(ns) {
  return duration(ns).replace(/\.0+(?=\D)/, "").replace(NARROW, " ");
}

// Drawn once.
function startLifetimes() {
  let isDrawn = false;
  follow("lifetimes", ["span"], () => {
    if (!isDrawn) drawLifetimes();
    isDrawn = true;
  });
}

function drawLifetimes() {
  const { sizes, ns, blocks, bytes: size } = D.lifetimes, columns = ns.length + 1;
  const starts = ns.map((_, at) => at).filter((at) => at === 0 || at % 2 === 1);
  const cell = (values, row, at) => values[row * columns + at] + (at && at + 1 < ns.length ? values[row * columns + at + 1] : 0);
  const isUsed = (at) => sizes.some((_, row) => cell(size, row, at) || cell(blocks, row, at));
  const last = starts.findLastIndex(isUsed);
  const shown = starts.slice(Math.max(0, starts.findIndex(isUsed)), last + 1);
  const used = sizes.map((_, row) => row).filter((row) => shown.some((at) => cell(blocks, row, at)) || blocks[row * columns + ns.length]);
  const most = Math.max(1, ...used.flatMap((row) => [...shown.map((at) => cell(size, row, at)), size[row * columns + ns.length]]));
  const box = (row, at, when, kind) => {
    const bytesHere = at === ns.length ? size[row * columns + at] : cell(size, row, at);
    const blocksHere = at === ns.length ? blocks[row * columns + at] : cell(blocks, row, at);
    const words = `${bytes(sizes[row])} to ${bytes(Math.max(0, 2 * sizes[row] - 1))}, ${when}: `
      + (blocksHere ? `${bytes(bytesHere)} in ${count(blocksHere)} block${blocksHere === 1 ? "" : "s"}` : "nothing");
    const strength = blocksHere ? 0.12 + 0.88 * Math.sqrt(bytesHere / most) : 0;
    return el("td", { class: kind, data: { words } }, el("span", { class: "spoken" }, blocksHere ? bytes(bytesHere) : ""),
      el("i", { style: { opacity: strength } }));
  };
  const lived = (at) => (at === 0 ? `lived under ${shortTime(ns[1])}` : at + 2 < ns.length
    ? `lived ${shortTime(ns[at])} to ${shortTime(ns[at + 2])}` : `lived ${shortTime(ns[at])} or longer`);
  fill(byId("heat"),
    el("tbody", {}, used.toReversed().map((row) => el("tr", {}, el("th", { scope: "row" }, bytes(sizes[row]).replace(/\.0+(?=\D)/, "")),
      shown.map((at) => box(row, at, lived(at), "")), box(row, ns.length, "still live", "live")))),
    el("tfoot", {}, el("tr", {}, el("td"), shown.map((at) => el("td", {}, at === 0 ? "0" : shortTime(ns[at]))), el("td", { class: "live" }, "live"))));
  const say = (text) => fill(byId("heat-said"), text ?? [hint("Point at a field for its figures. "), "Darker: more bytes."]);
  byId("heat").onpointermove = (event) => say(event.target.closest("td")?.dataset.words);
  byId("heat").onpointerleave = () => say();
  say();
}
