// The slowest calls are in the page already; their times choose a span, and a span fades the others.
function startSlow() {
  if (!D.slow.length) return;
  const tables = [...byId("slow").querySelectorAll("table")];
  const linesOf = (table) => [...table.tBodies[0].rows].filter((row) => !row.querySelector(".callers"));
  // The calls' own is the last: other tables may stand above it.
  const lines = tables.map(linesOf).findLast((found) => found.length === D.slow.length);
  if (!lines) return;
  lines.forEach((row, at) => {
    row.tabIndex = 0;
    row.classList.add("goes");
    row.title = "Choose the time around this call";
    const show = () => {
      const bin = binAt(D.slow[at]);
      setSpan(bin - 2, bin + 2);
    };
    row.onclick = show;
    row.onkeydown = (event) => { if (event.key === "Enter") show(); };
  });
  follow("slow", ["span"], () => lines.forEach((row, at) => {
    row.classList.toggle("outside", D.slow[at] < EDGES[state.first] || D.slow[at] > EDGES[state.last + 1]);
  }));
}
