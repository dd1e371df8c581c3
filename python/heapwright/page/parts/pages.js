// What keeps the pages: the heap's cells by address, at one scan.
const pages = { scan: 0, rows: [], perRow: 1, wide: 6, high: 9, cell: -1 };
const LEVELS = 15;
const USE = [["none", "None", 1, 1], ["least", "Under a quarter", 2, 5], ["some", "A quarter to a half", 6, 8],
  ["most", "A half to nine tenths", 9, 13], ["full", "Nearly all", 14, 15]];

function mixed(from, to, part) {
  const numbers = (text) => text.match(/[\d.]+/g).map(Number);
  const a = numbers(from), b = numbers(to);
  return `rgb(${[0, 1, 2].map((at) => Math.round(a[at] + (b[at] - a[at]) * part)).join()})`;
}

function cellColours() {
  const sparse = colour("partly_free"), full = colour("live");
  const shades = [colour("faint"), colour("free_pages")];
  for (let level = 2; level <= LEVELS; level++) shades.push(mixed(sparse, full, ((level - 2) / (LEVELS - 2)) ** 0.8));
  return shades;
}

function placeBands(width) {
  const isSmall = width < 500 || cells.all > 30000;
  Object.assign(pages, { wide: isSmall ? 4 : 6, high: isSmall ? 6 : 9, rows: [] });
  pages.perRow = Math.max(1, Math.floor(width / pages.wide));
  let y = 0, first = 0;
  for (const [address, many] of D.bands) {
    y += 18;
    pages.rows.push({ address, many, first, y });
    first += many;
    y += Math.ceil(many / pages.perRow) * pages.high + 8;
  }
  return y;
}

function drawPages() {
  const canvas = byId("cells"), width = canvas.parentNode.clientWidth, scale = devicePixelRatio || 1;
  const height = placeBands(width);
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.height = height + "px";
  const c = canvas.getContext("2d");
  c.scale(scale, scale);
  c.font = "11.5px system-ui, sans-serif";
  const shades = cellColours(), mute = colour("mute"), levels = cells.levels[pages.scan], owners = cells.sites[pages.scan];
  for (const band of pages.rows) {
    c.globalAlpha = 1;
    c.fillStyle = mute;
    c.fillText(bandTitle(band), 0, band.y - 5);
    // Colour by colour: changing it takes longer than a cell.
    shades.forEach((shade, level) => {
      c.fillStyle = shade;
      for (let at = 0; at < band.many; at++) {
        const cell = band.first + at, owner = owners[cell] - 1;
        if (levels[cell] !== level) continue;
        const isOther = state.group >= 0 && level > 0 && (level === 1 || owner < 0 || groupOfSite[owner] !== state.group);
        if (state.group >= 0) c.globalAlpha = isOther ? 0.22 : 1;
        c.fillRect((at % pages.perRow) * pages.wide, band.y + Math.floor(at / pages.perRow) * pages.high, pages.wide - 0.75, pages.high - 1);
      }
    });
  }
  if (pages.cell >= 0) markCell(c);
  byId("scan-time").textContent = seconds(D.scanNs[pages.scan]);
  byId("scan").value = pages.scan;
}

function bandTitle({ address, many, first }) {
  let resident = 0;
  for (let cell = first; cell < first + many; cell++) resident += cells.levels[pages.scan][cell] > 0 ? 1 : 0;
  return `0x${address.toString(16)}, ${bytes(resident * D.cellBytes)} of ${bytes(many * D.cellBytes)} in memory`;
}

function markCell(c) {
  const band = pages.rows.find(({ first, many }) => pages.cell >= first && pages.cell < first + many);
  if (!band) return;
  const at = pages.cell - band.first;
  c.globalAlpha = 1;
  c.strokeStyle = colour("ink");
  c.lineWidth = 1.5;
  c.strokeRect((at % pages.perRow) * pages.wide - 1.5, band.y + Math.floor(at / pages.perRow) * pages.high - 1.5, pages.wide + 2, pages.high + 2);
}

function cellAt(event) {
  const box = byId("cells").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  for (const band of pages.rows) {
    const row = Math.floor((y - band.y) / pages.high), column = Math.floor(x / pages.wide);
    const at = row * pages.perRow + column;
    if (y >= band.y && row >= 0 && column < pages.perRow && at < band.many && row <= (band.many - 1) / pages.perRow) return band.first + at;
  }
  return -1;
}

function describeCell(cell) {
  const band = pages.rows.find(({ first, many }) => cell >= first && cell < first + many);
  if (!band) return fill(byId("cell"), hint("Point at a cell, or move with the arrow keys."));
  const level = cells.levels[pages.scan][cell], blocks = cells.blocks[pages.scan][cell], owner = cells.sites[pages.scan][cell] - 1;
  const address = band.address + (cell - band.first) * D.cellBytes;
  const use = level === 0 ? "not in memory" : level === 1 ? "in memory, no live block"
    : `about ${Math.round((level - 2) / (LEVELS - 2) * 100)}${NARROW}% in use by ${blocks === 255 ? "255 or more" : blocks} block${blocks === 1 ? "" : "s"}`;
  fill(byId("cell"), el("b", {}, `0x${address.toString(16)}`), `, ${bytes(D.cellBytes)}: ${use}`,
    owner >= 0 && [", most of it from ", el("b", {}, sites[owner].name), " ", sites[owner].place]);
}

function drawSurvivors() {
  const found = groups.map((group, at) => {
    let kept = 0;
    for (const leaf of group.leaves) kept += pins[pages.scan][leaf];
    return { at, group, kept };
  }).filter((row) => row.kept > 0).sort((a, b) => b.kept - a.kept);
  const unit = unitOf("bytes", found.map((row) => row.kept)), all = found.reduce((sum, row) => sum + row.kept, 0);
  fill(byId("survivors"), el("caption", {}, "Who keeps free room beside its blocks"),
    el("thead", {}, el("tr", {}, heading("Call site", "text"), heading(unit.name), heading("share"))),
    el("tbody", {}, found.slice(0, 8).map((row) => el("tr", { class: row.at === state.group ? "chosen" : "" },
      el("td", { class: "text name" }, el("button", { type: "button", class: "link", data: { group: row.at } }, row.group.name),
        " ", el("span", { class: "mute" }, row.group.place)),
      number(inUnit(row.kept, unit)), number(share(row.kept, all), "mute")))),
    el("tfoot", {}, el("tr", {}, el("td", {}, "All of them"), number(inUnit(all, unit)), number(""))));
}

function drawUse() {
  const sums = USE.map(([, , from, to]) => {
    let many = 0;
    for (const level of cells.levels[pages.scan]) many += level >= from && level <= to ? 1 : 0;
    return many * D.cellBytes;
  });
  const all = sums.reduce((sum, value) => sum + value, 0), unit = unitOf("bytes", sums);
  fill(byId("use"), el("caption", {}, `Cells of ${bytes(D.cellBytes)} by how much of them is in use`),
    el("thead", {}, el("tr", {}, heading("In use", "text"), heading(unit.name), heading("share"))),
    el("tbody", {}, USE.map(([key, label], at) => el("tr", {}, el("td", {}, el("span", { class: "swatch use-" + key }), label),
      number(inUnit(sums[at], unit)), number(share(sums[at], all), "mute")))));
}

function setScan(scan) {
  pages.scan = Math.max(0, Math.min(D.scanNs.length - 1, scan));
  drawPages();
  drawSurvivors();
  drawUse();
  describeCell(pages.cell);
}

function startPages() {
  if (!D.scanNs.length || !cells.all) return;
  byId("pages-shown").hidden = false;
  byId("pages-none").hidden = true;
  const canvas = byId("cells");
  byId("scan").max = D.scanNs.length - 1;
  byId("scan").oninput = (event) => setScan(Number(event.target.value));
  canvas.onpointermove = (event) => describeCell(cellAt(event));
  canvas.onclick = (event) => {
    const owner = cells.sites[pages.scan][cellAt(event)] - 1;
    setGroup(owner >= 0 && groupOfSite[owner] !== state.group ? groupOfSite[owner] : -1);
  };
  canvas.onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: pages.perRow, ArrowUp: -pages.perRow }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    pages.cell = Math.max(0, Math.min(cells.all - 1, pages.cell < 0 ? 0 : pages.cell + by));
    drawPages();
    describeCell(pages.cell);
  };
  byId("survivors").onclick = (event) => {
    const group = event.target.dataset.group;
    if (group !== undefined) setGroup(state.group === Number(group) ? -1 : Number(group));
  };
  follow("pages", ["span"], () => {
    if (scanOf(spanOf()) !== pages.scan) setScan(scanOf(spanOf()));
  });
  follow("pages", ["group", "tree", "size"], () => setScan(pages.scan));
}
