// The call sites by the chosen measure: the icicle's table.
const siteTable = { sort: "value", isDown: true, isAll: false };
const SHOWN_SITES = 12;

function siteRows() {
  const span = spanOf(), matches = matcher();
  const columns = { value: valuesOf(state.measure, span), live: valuesOf("live", span), calls: valuesOf("calls", span) };
  columns.pinned = hasMeasure("pinned") ? valuesOf("pinned", span) : null;
  const rows = groups.map((group, at) => {
    const row = { at, group, value: 0, live: 0, calls: 0, pinned: 0 };
    for (const leaf of group.leaves) {
      row.value += columns.value[leaf];
      row.live += columns.live[leaf];
      row.calls += columns.calls[leaf];
      if (columns.pinned) row.pinned += columns.pinned[leaf];
    }
    return row;
  }).filter((row) => row.value && (!matches || matches(row.group.name, row.group.place, row.group.library)));
  const key = siteTable.sort, by = key === "name" ? (row) => row.group.name : key === "value" ? (row) => Math.abs(row.value) : (row) => row[key];
  const order = siteTable.isDown ? -1 : 1;
  return rows.sort((a, b) => (by(a) < by(b) ? -order : by(a) > by(b) ? order : 0) || Math.abs(b.value) - Math.abs(a.value));
}

// The columns beside the measure's own.
const besides = () => ["live", "pinned", "calls"].filter((name) =>
  name !== state.measure && (name !== "pinned" || hasMeasure("pinned")));

function drawSites() {
  const rows = siteRows(), { kind, label } = MEASURES[state.measure];
  const unit = unitOf(kind, rows.map((row) => row.value));
  const units = Object.fromEntries(besides().map((name) => [name, unitOf(MEASURES[name].kind, rows.map((row) => row[name]))]));
  const whole = rows.reduce((sum, row) => sum + Math.abs(row.value), 0);
  const most = rows.reduce((sum, row) => Math.max(sum, Math.abs(row.value)), 1);
  const shown = siteTable.isAll ? rows : rows.slice(0, SHOWN_SITES);
  const length = EDGES[BINS] - EDGES[0] || 1;
  const span = isWhole() ? null : [(EDGES[state.first] - EDGES[0]) / length, (EDGES[state.last + 1] - EDGES[0]) / length];
  const sorter = (key, text, kindOf = "num") => {
    const isSorted = siteTable.sort === key;
    return heading(el("button", { type: "button", data: { sort: key } }, text, isSorted ? (siteTable.isDown ? " ↓" : " ↑") : ""),
      kindOf, isSorted ? { "aria-sort": siteTable.isDown ? "descending" : "ascending" } : {});
  };
  const withUnit = (text, of) => text + (of.name ? ", " + of.name : "");
  const line = (row) => el("tr", { data: { group: row.at }, tabIndex: 0, class: row.at === state.group ? "chosen" : "" },
    el("td", { class: "text name", title: `${row.group.name}\n${sites[row.group.sites[0]].whole}` },
      el("b", {}, row.group.name), " ", el("span", { class: "mute" }, row.group.place), growthOf(row.group)),
    number(inUnit(row.value, unit, state.measure === "growth")),
    el("td", { class: "meter" }, el("i", { class: row.value < 0 ? "less" : "", style: { width: Math.abs(row.value) / most * 100 + "%" } })),
    number(share(Math.abs(row.value), whole), "mute wide"),
    el("td", { class: "wide" }, spark(seriesOf(row.group), span)),
    besides().map((name) => number(inUnit(row[name], units[name]), "mute wide")));
  fill(byId("sites"), el("thead", {}, el("tr", {}, sorter("name", "Call site", "text"), sorter("value", withUnit(label, unit)),
    heading(""), heading("share", "num wide"), heading("live over time", "text wide"),
    besides().map((name) => sorter(name, withUnit(MEASURES[name].label, units[name]), "num wide")))),
  el("tbody", {}, shown.map(line)));
  const more = byId("more-sites");
  more.hidden = rows.length <= SHOWN_SITES;
  more.textContent = siteTable.isAll ? `Show ${SHOWN_SITES}` : `Show all ${count(rows.length)} call sites`;
}

// What the answer on growth says of it.
function growthOf(group) {
  const row = D.growth.find((one) => group.sites.includes(one.site));
  return row && row.kind !== "steady" ? el("span", { class: "tag" }, row.kind, row.isSure ? " " + rateOf(row.slope) : "") : null;
}

function startSites() {
  const node = byId("sites");
  node.onclick = (event) => {
    const key = event.target.closest("button")?.dataset.sort;
    const row = event.target.closest("tbody tr");
    if (key) {
      siteTable.isDown = siteTable.sort === key ? !siteTable.isDown : key !== "name";
      siteTable.sort = key;
      drawSites();
      node.querySelector(`[data-sort="${key}"]`).focus();
    } else if (row) setGroup(state.group === Number(row.dataset.group) ? -1 : Number(row.dataset.group));
  };
  node.onkeydown = (event) => {
    const row = event.target.closest("tbody tr");
    if (!row) return;
    if (event.key === "Enter" || event.key === " ") row.click();
    else if (event.key === "ArrowDown") row.nextElementSibling?.focus();
    else if (event.key === "ArrowUp") row.previousElementSibling?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  byId("more-sites").onclick = () => { siteTable.isAll = !siteTable.isAll; drawSites(); };
  follow("where", ["span", "measure", "query", "group", "tree"], drawSites);
}
