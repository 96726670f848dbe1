// What only some systems have: a table for each part of a system, how flash is divided before disks, which pages were shadows.

const sections = {
  /** @type {Map<Section, { table: HTMLElement, pictures: HTMLElement }>} */
  places: new Map(),
  /** @type {Map<Run, Figure>} */
  divided: new Map(),
  /** @type {Figure | null} */
  moved: null,
};
const SECTION_RUNS_MAX = 6;
const DIVIDED = { "read cache": series(1, { fill: 0.75 }), "write cache": series(0, { fill: 0.75 }), "over-provisioned": series(4, { fill: 0.25 }), "allowed to the caches": series(7, { dash: DASHES[1] }) };
const SHADOWS = { host: "host-shadows", device: "device-shadows", twin: "twin-shadows" };

// Of the runs that are drawn, those that have the part; of all of them where none has.
/** @type {(section: Section) => Run[]} */
function runsWith(section) {
  const has = (/** @type {Run} */ run) => section.measures.some((measure) => measure.values[run] != null);
  const chosen = state.selected.filter(has);
  return chosen.length ? chosen : runs.filter(has).slice(0, SECTION_RUNS_MAX);
}

/** @type {(section: Section) => HTMLElement} */
function tableOf(section) {
  const { title, about, measures, assumed } = section;
  const shown = runsWith(section);
  // Where some numbers have a share beside them, the others leave room for one.
  const shared = measures.some((measure) => measure.shares);
  const heads = ["measure", ...shown.map((run) => labels[run])];
  /** @type {TableCell[][]} */
  const rows = measures.map(({ label, about: meaning, unit, values, shares }) => [
    el("th", { scope: "row" }, label, meaning ? el("small", {}, meaning) : null),
    ...shown.map((run) => el("td", {}, show(values[run], unit), shared ? el("small", {}, shares?.[run] == null ? "" : show(shares[run], "share")) : null)),
  ]);
  const given = assumed.map(({ label, texts }) => [label, ...shown.map((run) => texts[run])]);
  return scrolled(title, about, runs.length > 1 ? heads : [], [[...given, ...rows]], "part");
}

/** How flash is divided. @type {(run: Run) => Chart} */
function dividedChart(run) {
  const [atNs, clean, dirty, allowed] = columns(data.details[run].divided);
  /** @type {(name: string, from: number[] | null, to: number[]) => Row[]} */
  const layer = (name, from, to) => atNs.map((x, at) => {
    const share = to[at] - (from?.[at] ?? 0);
    return { name, x, y: to[at], from: from?.[at], share, text: show(share, "share") };
  });
  const [nothing, whole, held] = [atNs.map(() => 0), atNs.map(() => 1), clean.map((share, at) => share + dirty[at])];
  const rows = [layer("read cache", nothing, clean), layer("write cache", clean, held), layer("over-provisioned", held, whole), layer("allowed to the caches", null, allowed)];
  return {
    kind: "courses", zoomable: true, rows: rows.flat(), looks: DIVIDED, x: { label: "simulated time", unit: "ns", nice: false },
    y: { label: "share of the flash", unit: "share" }, fields: { part: "name", at_ns: "x", share: "share" },
  };
}

/** @type {(run: Run) => HTMLElement} */
function dividedFigure(run) {
  const figure = sections.divided.get(run) ?? new Figure({
    title: runs.length > 1 ? `How flash is divided: ${labels[run]}` : "How flash is divided", make: () => dividedChart(run), height: () => 310,
  });
  sections.divided.set(run, figure);
  return figure.element;
}

/** Which pages were shadows. @type {Make} */
function movedChart() {
  const at = (/** @type {string} */ kind, /** @type {Run} */ run) => metricAt.get(`shadows.moved_${kind}_pages`)?.values[run] ?? 0;
  const total = (/** @type {Run} */ run) => ["valid", ...Object.keys(SHADOWS)].reduce((sum, kind) => sum + at(kind, run), 0);
  const moving = ordered().filter(total);
  const rows = stacked(moving.map((run, place) => ({
    label: labels[run], shown: place < BARS_MAX, parts: Object.entries(SHADOWS).map(([kind, name]) => [name, at(kind, run) / total(run)]),
  })));
  if (!rows.some(({ value }) => value)) return "No page that was moved was known to be a shadow.";
  return {
    kind: "bars", rows, x: { label: "share of the pages moved", unit: "share", grid: true },
    looks: { "host-shadows": series(1), "device-shadows": series(0), "twin-shadows": series(3) }, fields: { run: "label", kind: "name", share_of_moved: "value" },
  };
}

/** @type {(place: HTMLElement) => void} */
function buildSections(place) {
  for (const section of data.sections) {
    const [table, pictures] = [el("div"), el("div", { class: "pictures" })];
    sections.places.set(section, { table, pictures });
    place.append(el("h3", { class: "sub" }, section.title), table, pictures);
    if (section.path === "shadows") {
      sections.moved = new Figure({ title: "Shadows among the pages that were moved", make: movedChart, height: barsHeight });
      pictures.append(sections.moved.element);
    }
  }
  fillSections();
}

function fillSections() {
  for (const [section, { table, pictures }] of sections.places) {
    table.replaceChildren(tableOf(section));
    if (section.path === "hybrid") pictures.replaceChildren(...runsWith(section).map(dividedFigure));
  }
}
