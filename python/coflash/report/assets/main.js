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

/**
 * The sections in their order: what the navigation calls them, their titles, what fills them, and what is said of them.
 * @type {[string, string, string, (place: HTMLElement) => void, string?][]}
 */
const SECTIONS = [
  ["findings", "Findings", "What a change does", buildFindings],
  ["tuning", "The search", "The search", buildSearch],
  ["explore", "Measures", "Any measure, over what varied", buildExplorer],
  ["runs", "Runs", "The runs", buildTable],
  ["programs", "Programs", "Where programs come from", buildPrograms, "Every page programmed, under the one cause that it has."],
  ["run-details", "Run by run", "Run by run", buildRunDetails, "A request’s time runs from its arrival to its completion. Garbage collection in its way "
    + `shows in the tail before it shows in the mean.${runs.length > 1 ? ' <span id="hint">Tick runs in <a href="#runs">the table</a> to draw others.</span>' : ""}`],
  ["sections", "The device and its parts", "The device and its parts", buildSections],
  ["compare", "Side by side", "Two runs side by side", buildCompare],
  ["again", "Run it again", "Run it again", buildAgain],
];
/** What stands behind a section, where it is not the next one: a search that has the answer is before what explains it. @type {Record<string, string>} */
const BEHIND = { findings: "#about", tuning: data.answer ? "#findings" : "#filter" };

readAddress();
const places = SECTIONS.map(([id, , title, , says]) => {
  const place = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title`, class: id === "findings" ? "unseen" : null }, title));
  if (says) place.append(Object.assign(el("p"), { innerHTML: says }));
  $("main").insertBefore(place, BEHIND[id] ? $(BEHIND[id]) : null);
  return place;
});
buildFilter($("#filter"));
showCount();
SECTIONS.forEach(([, , , build], at) => build(places[at]));
$("nav ul").append(...SECTIONS.filter(([id]) => $(`#${id}`)).map(([id, name]) => el("li", {}, el("a", { href: `#${id}` }, name))));
document.documentElement.dataset.ready = "yes";
