// Puts the page together, and draws anew what a change concerns.

// A search of `coflash tune`, whose charts are the same whatever is filtered.
/** @type {(place: HTMLElement) => void} */
function buildSearch(place) {
  if (!data.search) return place.remove();
  const { about, charts, slices, title } = data.search;
  place.append(el("p", {}, about), ...charts.map((chart) => new Figure({ ...chart, make: () => chart, ...(chart.kind === "bars" ? { height: barsHeight, legend: false } : {}) }).element),
    el("h3", { class: "sub" }, title),
    el("div", { class: "grid" }, ...slices.map((chart) => new Figure({ ...chart, make: () => chart, small: true, height: () => 210 }).element)));
  return undefined;
}

function refresh() {
  fillFindings();
  fillExplorer();
  fillTable();
  refreshOrder();
}

function refreshOrder() {
  notePrograms();
  runDetails.programs?.redraw();
  sections.moved?.redraw();
}

function refreshSelection() {
  fillChips();
  runDetails.figures.forEach((figure) => figure.redraw());
  fillSections();
}

readAddress();
buildFilter($("#filter"));
showCount();
buildFindings($("#findings"));
buildSearch($("#tuning"));
buildExplorer($("#explore"));
buildTable($("#runs"));
// There is nothing to choose among one.
if (runs.length === 1) $("#hint").remove();
buildPrograms($("#programs"));
buildRunDetails($("#run-details"));
buildSections($("#sections"));
buildCompare($("#compare"));
buildAgain($("#again"));
$$("nav a").forEach((link) => { if (!$(link.getAttribute("href"))) link.parentElement.remove(); });
document.documentElement.dataset.ready = "yes";
