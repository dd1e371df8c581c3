// Why the span's slow calls were slow: of calls that take so long or longer, each cause's share, under the
// curve's own times; and the table, whose sums for the whole run are those of the slowest calls' heading.
const CAUSE_HEIGHT = 120;
const causes = { plot: null };

// The span's slow calls: by cause {cause, calls, time, counts by a bucket's begin}, most time first.
function causesOf() {
  const found = new Map();
  for (const row of slowRows) {
    if (row.bin <= state.first || row.bin > state.last + 1) continue;
    let sum = found.get(row.cause);
    if (!sum) found.set(row.cause, sum = { cause: row.cause, calls: 0, time: 0, counts: new Map() });
    sum.calls += row.calls;
    sum.time += row.time;
    sum.counts.set(row.fromNs, (sum.counts.get(row.fromNs) ?? 0) + row.calls);
  }
  return [...found.values()].sort((a, b) => b.time - a.time);
}

// How many of a cause's calls take at least so long, at each of these times.
function callsAbove(of, times) {
  return times.map((ns) => {
    let calls = 0;
    for (const [from, many] of of.counts) calls += from >= ns ? many : 0;
    return calls;
  });
}

// range: of the curve above; size: of its axis.
function drawCauses(range, size) {
  const node = byId("cause-plot"), of = causesOf();
  causes.plot = null;
  node.replaceChildren();
  drawCauseTable(of);
  node.hidden = !of.length;
  if (!of.length) return;
  const times = [...new Set(of.flatMap((one) => [...one.counts.keys()]))].sort((a, b) => a - b);
  const above = of.map((one) => callsAbove(one, times));
  const sums = times.map((_, at) => above.reduce((sum, one) => sum + one[at], 0));
  let below = times.map(() => 0);
  const layers = above.map((one) => (below = below.map((value, at) => value + one[at] / sums[at])));
  const ends = (values) => [...values, values.at(-1)];
  causes.plot = new uPlot({
    width: node.clientWidth, height: CAUSE_HEIGHT, padding: [8, 10, 8, 0], legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
    scales: { x: { time: false, distr: 3, range }, y: { range: [0, 1] } },
    axes: [{ ...AXIS(), show: false }, { ...AXIS(), size, splits: () => [0, 0.5, 1], values: (u, splits) => splits.map((part) => part * 100 + NARROW + "%") }],
    series: [{}, ...of.map((one) => ({ width: 0, fill: colour("cause-" + one.cause), points: { show: false }, paths: uPlot.paths.stepped({ align: -1 }) })).toReversed()],
    hooks: { setCursor: [(u) => describeCauses(of, above, sums, u.cursor.left >= 0 ? u.cursor.idx : null, times)] },
  }, [[...times, bucketEnd(times.at(-1))], ...layers.map(ends).toReversed()], node);
  describeCauses(of, above, sums, null, times);
}

function describeCauses(of, above, sums, at, times) {
  const said = byId("cause-said");
  if (at === null || at >= times.length) {
    fill(said, hint("Point at the shares for figures. "), `Calls under ${shortTime(D.slowFromNs)} have no cause.`);
    return;
  }
  const parts = of.map((one, number) => [one, above[number][at]]).filter(([, calls]) => calls).sort((a, b) => b[1] - a[1]);
  fill(said, `Of ${count(sums[at])} of ${duration(times[at])} or longer: `, parts.slice(0, 4).map(([one, calls], number) =>
    [number ? ", " : "", el("b", {}, share(calls, sums[at])), " ", D.causes[one.cause][0]]));
}

function drawCauseTable(of) {
  const unit = unitOf("ns", of.map((one) => one.time)), whole = of.reduce((sum, one) => sum + one.time, 0);
  const calls = of.reduce((sum, one) => sum + one.calls, 0);
  fill(byId("cause-table"), el("caption", {}, `Calls of ${shortTime(D.slowFromNs)} and longer, by cause`),
    el("thead", {}, el("tr", {}, heading("Cause", "text"), heading("known", "text wide"), heading("calls"), heading(`time, ${unit.name}`), heading("share"))),
    el("tbody", {}, of.length ? of.map((one) => el("tr", {},
      el("td", {}, el("span", { class: "swatch cause-" + one.cause }), D.causes[one.cause][0]),
      el("td", { class: "text mute wide" }, D.causes[one.cause][1]), number(count(one.calls)), number(inUnit(one.time, unit)), number(share(one.time, whole), "mute")))
      : el("tr", {}, el("td", { colSpan: 5 }, "No call of this span took so long."))),
    of.length > 1 && el("tfoot", {}, el("tr", {}, el("td", {}, "All of them"), el("td", { class: "wide" }), number(count(calls)), number(inUnit(whole, unit)), number(""))));
}
