// On a phone a table that is too wide is a list: a row's cells stand below each other, each with its heading.
const PHONE = matchMedia("(max-width: 560px)");

function foldTables() {
  if (!PHONE.matches) return;
  for (const table of document.querySelectorAll(".scroll > table:not([id], .folded)")) {
    const frame = table.parentElement;
    if (frame.scrollWidth > frame.clientWidth + 1) fold(table);
  }
}

function fold(table) {
  const headings = [...table.tHead?.rows[0]?.cells ?? []].map((cell) => cell.textContent);
  for (const row of table.tBodies[0].rows) {
    for (const [at, cell] of [...row.cells].entries()) cell.dataset.label = headings[at] ?? "";
  }
  table.classList.add("folded");
}

function startFolding() {
  foldTables();
  PHONE.addEventListener("change", foldTables);
  document.addEventListener("toggle", foldTables, true);  // what is closed has no width
  follow("answers", ["size"], foldTables);
}
