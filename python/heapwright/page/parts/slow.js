// The slowest calls are in the page already; their times choose a span, and a span fades the others.
function startSlow() {
  const table = byId("slow-calls");
  if (!table || !D.slow.length) return;
  const lines = [...table.querySelectorAll("tbody tr")].filter((row) => !row.querySelector(".callers"));
  lines.forEach((row, at) => {
    row.tabIndex = 0;
    row.classList.add("goes");
    row.title = "Select the time around this call";
    const show = () => {
      const bin = binAt(D.slow[at]);
      setSpan(bin - 2, bin + 2);
    };
    row.onclick = (event) => { if (!event.target.closest("details")) show(); };
    row.onkeydown = (event) => { if (event.key === "Enter" && event.target === row) show(); };
  });
  follow("slow", ["span"], () => lines.forEach((row, at) => {
    row.classList.toggle("outside", D.slow[at] < EDGES[state.first] || D.slow[at] > EDGES[state.last + 1]);
  }));
}
