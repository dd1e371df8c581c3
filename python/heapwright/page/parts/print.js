// Before the page is printed its pictures are drawn anew, for light paper of a sheet's width; afterwards as they were.
const paper = { isOn: false, opened: [] };

function toPaper() {
  if (paper.isOn) return;
  paper.isOn = true;
  document.documentElement.classList.add("paper");
  paper.opened = [...document.querySelectorAll("details:not([open])")];
  for (const one of paper.opened) one.open = true;
  changed("size");
  drawAtOnce();
}

function fromPaper() {
  if (!paper.isOn) return;
  paper.isOn = false;
  document.documentElement.classList.remove("paper");
  for (const one of paper.opened) one.open = false;
  changed("size");
}

function startPrint() {
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? toPaper() : fromPaper()));
}
