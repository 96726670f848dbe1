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

// One run for each line of the charts, alike in all else, at a middling value of their axis.
/** @type {() => Run[]} */
function firstSelected() {
  if (runs.length <= 4) return runs;
  const { x, by } = view;
  const rest = keys.filter((key) => key !== x && key !== by);
  /** @type {Map<string, Run[]>} */
  const groups = new Map();
  for (const run of runs) {
    const place = [x.codes[run], ...rest.map((key) => key.codes[run])].join();
    groups.set(place, [...(groups.get(place) ?? []), run]);
  }
  if (!by) return [0, 0.33, 0.67, 1].map((share) => [...groups.values()][Math.round(share * (groups.size - 1))][0]);
  const most = Math.max(...[...groups.values()].map((group) => group.length));
  const whole = [...groups.values()].filter((group) => group.length === most);
  const places = [...new Set(whole.map(([run]) => x.codes[run]))].sort((a, b) => a - b);
  return (whole.find(([run]) => x.codes[run] === places[Math.floor(places.length / 2)]) ?? []).slice(0, 6);
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
state.selected = firstSelected();
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
