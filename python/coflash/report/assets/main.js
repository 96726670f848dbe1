// Puts the page together, and draws anew what a change concerns.

/** @type {(place: HTMLElement) => void} */
function buildVaried(place) {
  if (!keys.length) return place.remove();
  const values = (/** @type {Key} */ key) => {
    const { texts } = key;
    return texts.length <= 6 ? texts.join(", ") : `${texts.length} values, ${texts[0]} … ${texts.at(-1)}`;
  };
  place.append(el("dl", { class: "varied" }, ...keys.map((key) => el("div", {},
    el("dt", {}, el("code", {}, key.path)), el("dd", {}, values(key)),
    key.along.length ? el("dd", { class: "along" }, "with ", key.along.slice(0, 4).join(", "), key.along.length > 4 ? " …" : "") : null))));
  return undefined;
}

// One run for each line of the charts, alike in all else, at a middling value of their axis.
/** @type {() => Run[]} */
function firstSelected() {
  if (runs.length <= 4) return runs;
  const { x, by } = view;
  const rest = keys.filter((key) => key !== x && key !== by);
  const groups = new Map();
  for (const run of runs) {
    const place = [x.codes[run], ...rest.map((key) => key.codes[run])].join();
    groups.set(place, [...(groups.get(place) ?? []), run]);
  }
  if (!by) return [0, 0.33, 0.67, 1].map((share) => [...groups.values()][Math.round(share * (groups.size - 1))][0]);
  const most = Math.max(...[...groups.values()].map((group) => group.length));
  const whole = [...groups.values()].filter((group) => group.length === most);
  const places = [...new Set(whole.map(([run]) => x.codes[run]))].sort((a, b) => a - b);
  return whole.find(([run]) => x.codes[run] === places[Math.floor(places.length / 2)]).slice(0, 6);
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
buildVaried($("#varied"));
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
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { redrawAll(); fillChips(); });
$$("nav a").forEach((link) => { if (!$(link.getAttribute("href"))) link.parentElement.remove(); });
document.documentElement.dataset.ready = "yes";
