// Starts the page: the data, then what is drawn from it.

// A finding's link shows its evidence: its measure, its call site, the whole run.
function startFindings() {
  for (const link of document.querySelectorAll("a.show")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const { measure, site } = link.dataset, at = siteOf.get(Number(site));
      setWholeSpan();
      if (measure) setMeasure(measure);
      setGroup(site !== undefined && at !== undefined ? groupOfSite[at] : -1);
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      document.querySelector(link.getAttribute("href")).scrollIntoView({ behavior: calm ? "auto" : "smooth" });
    });
  }
}

// An answer that is linked to opens.
function openAnswer() {
  const found = location.hash.startsWith("#answer-") && byId(location.hash.slice(1));
  if (found instanceof HTMLDetailsElement) found.open = true;
}

function startSize() {
  let width = innerWidth, timer = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => changed("size"), 120);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changed("size"));
}

// What the headline is about; without one, what is live, if the program did not give everything back.
function firstMeasure() {
  const told = document.querySelector("#first > .go a.show")?.dataset.measure;
  if (told && hasMeasure(told)) return told;
  return liveTotals[BINS] < 0.05 * D.peakBytes ? "peak" : "live";
}

async function start() {
  await readData();
  state.last = BINS - 1;
  addTotals();
  state.measure = state.usual = firstMeasure();
  groupSites(false);
  readAddress();
  document.body.classList.add("alive");
  for (const begin of [startBar, startMemory, startIcicle, startSites, startHolders, startGrowth, startPages, startLatency, startThreads, startSlow,
    startLifetimes, startFolding, startKeys, startFindings, startPrint, startSize]) begin();
  addEventListener("hashchange", openAnswer);
  openAnswer();
  changed("span", "measure", "query", "group", "tree", "size");
  drawPending();
  document.documentElement.dataset.ready = performance.now().toFixed(0);
}

start().catch((error) => {
  byId("notice").textContent = `The charts could not be drawn (${error.message}): a browser from 2024 or later is needed.`;
  byId("notice").hidden = false;
  throw error;
});
