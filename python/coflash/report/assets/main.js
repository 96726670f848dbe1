// Puts the page together, and draws anew what a change concerns.

// A search of `coflash tune`, whose charts are the same whatever is filtered.
/** @type {(place: HTMLElement) => void} */
function buildSearch(place) {
  const { about, charts, slices, title } = /** @type {Search} */ (data.search);
  place.append(el("p", {}, about), ...charts.map((chart) => new Figure({ ...chart, make: () => chart, ...(chart.kind === "bars" ? { height: barsHeight, legend: false } : {}) }).element),
    el("h3", { class: "sub" }, title),
    el("div", { class: "grid" }, ...slices.map((chart) => new Figure({ ...chart, make: () => chart, small: true, height: () => 210 }).element)));
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

const several = runs.length > 1;

/**
 * The sections in their order: what the navigation calls them, their titles, whether these runs have them, what fills them,
 * and what is said of them.
 * @type {[string, string, string, boolean, (place: HTMLElement) => void, string?][]}
 */
const SECTIONS = [
  ["findings", "Findings", "What a change does", true, buildFindings],
  ["tuning", "The search", "The search", Boolean(data.search), buildSearch],
  ["explore", "Measures", "Any measure, over what varied", several && Boolean(view.x), buildExplorer],
  ["runs", "Runs", "The runs", true, several ? buildTable : buildOnly],
  ["programs", "Programs", "Where programs come from", true, buildPrograms, "Every page programmed, under the one cause that it has."],
  ["run-details", "Run by run", "Run by run", true, buildRunDetails, "A request’s time runs from its arrival to its completion. Garbage collection in its way "
    + `shows in the tail before it shows in the mean.${several ? ' <span id="hint">Tick runs in <a href="#runs">the table</a> to draw others.</span>' : ""}`],
  ["sections", "The device and its parts", "The device and its parts", data.sections.length > 0, buildSections],
  ["compare", "Side by side", "Two runs side by side", several, buildCompare],
  ["again", "Run it again", "Run it again", true, buildAgain],
];
/** What stands behind a section, where it is not the next one: a search that has the answer is before what explains it. @type {Record<string, string>} */
const BEHIND = { findings: "#about", tuning: data.answer ? "#findings" : "#filter" };

readAddress();
const there = SECTIONS.filter(([, , , isThere]) => isThere);
const places = there.map(([id, , title, , , says]) => {
  const place = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title`, class: id === "findings" ? "unseen" : null }, title));
  if (says) place.append(Object.assign(el("p"), { innerHTML: says }));
  $("main").insertBefore(place, BEHIND[id] ? $(BEHIND[id]) : null);
  return place;
});
buildFilter($("#filter"));
showCount();
there.forEach(([, , , , build], at) => build(places[at]));
$("nav ul").append(...there.filter(([id]) => $(`#${id}`)).map(([id, name]) => el("li", {}, el("a", { href: `#${id}` }, name))));
document.documentElement.dataset.ready = "yes";
