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
/** @type {Record<string, [string, number]>} */
const SHADOWS = { host: ["host-shadows", 1], device: ["device-shadows", 0], twin: ["twin-shadows", 3] };

// Of the runs that are drawn, those that have the part; of all of them where none has.
/** @type {(section: Section) => Run[]} */
function runsWith(section) {
  const has = (/** @type {Run} */ run) => section.measures.some((measure) => measure.values[run] != null);
  const drawn = state.selected.filter(has);
  return drawn.length ? drawn : runs.filter(has).slice(0, SECTION_RUNS_MAX);
}

/** @type {(section: Section, table: HTMLElement) => void} */
function fillTableOf(section, table) {
  const shown = runsWith(section);
  // Where some numbers have a share beside them, the others leave room for one.
  const shared = section.measures.some((measure) => measure.shares);
  /** @type {(measure: Section["measures"][number], run: Run) => HTMLElement} */
  const cell = ({ unit, values, shares }, run) => el("td", {}, show(values[run], unit),
    shared ? el("small", {}, shares?.[run] == null ? "" : show(shares[run], "share")) : null);
  const head = el("tr", {}, el("th", { scope: "col", class: "text" }, "measure"), ...shown.map((run) => el("th", { scope: "col" }, labels[run])));
  table.replaceChildren(el("caption", {}, section.about),
    el("thead", { hidden: runs.length === 1 }, head),
    el("tbody", {}, ...section.assumed.map(({ label, texts }) => el("tr", {},
      el("th", { scope: "row" }, label), ...shown.map((run) => el("td", {}, texts[run])))),
    ...section.measures.map((measure) => el("tr", {},
      el("th", { scope: "row" }, measure.label, measure.about ? el("small", {}, measure.about) : null),
      ...shown.map((run) => cell(measure, run))))));
}

// ---- How flash is divided ----

/** @type {(run: Run, zoom: Zoom, hidden: Set<string>) => Drawing} */
function dividedChart(run, zoom, hidden) {
  const { atNs, clean, dirty, allowed } = details(run).divided;
  /** @type {(name: string, place: number, fill: number, from: (at: number) => number, to: (at: number) => number) => Line} */
  const layer = (name, place, fill, from, to) => ({
    name, look: { place, fill }, points: atNs.map((x, at) => ({ x, from: from(at), y: to(at), text: show(to(at) - from(at), "share") })),
  });
  const held = (/** @type {number} */ at) => clean[at] + dirty[at];
  const all = [
    layer("read cache", 1, 0.75, () => 0, (at) => clean[at]),
    layer("write cache", 0, 0.75, (at) => clean[at], held),
    layer("over-provisioned", 4, 0.25, held, () => 1),
    { name: "allowed to the caches", look: { place: 7, dash: 1 }, points: atNs.map((x, at) => ({ x, y: allowed[at] })) },
  ];
  const lines = all.filter((line) => !hidden.has(line.name));
  const last = atNs.length - 1;
  const [low, high] = zoom ?? [0, atNs[last] || 1];
  return {
    zoomable: true,
    x: { label: "simulated time", unit: "ns", low, high, nice: false, show: (ns) => `${show(ns, "ns")} on` },
    y: { label: "share of the flash", unit: "share", low: 0, high: 1, show: (share) => show(share, "share") },
    lines: lines.length ? lines : all, legend: all.map(({ name, look }) => ({ name, look })),
    summary: `At the end: read cache ${show(clean[last], "share")}, write cache ${show(dirty[last], "share")}, over-provisioned ${show(1 - held(last), "share")}.`,
    table: () => ({
      columns: ["at_ns", "read_cache_share", "write_cache_share", "over_provisioned_share", "allowed_share"],
      rows: atNs.map((at, place) => [at, clean[place], dirty[place], 1 - held(place), allowed[place]]),
    }),
  };
}

/** @type {(run: Run) => HTMLElement} */
function dividedFigure(run) {
  const figure = sections.divided.get(run) ?? new Figure({
    title: runs.length > 1 ? `How flash is divided: ${labels[run]}` : "How flash is divided",
    make: (zoom, hidden) => dividedChart(run, zoom, hidden), height: () => 280,
  });
  sections.divided.set(run, figure);
  return figure.element;
}

// ---- Which pages were shadows ----

/** @type {Make} */
function movedChart(_, hidden) {
  const at = (/** @type {string} */ path, /** @type {Run} */ run) => metricAt.get(`shadows.${path}_pages`)?.values[run] ?? 0;
  const total = (/** @type {Run} */ run) => ["valid", "host", "device", "twin"].reduce((sum, kind) => sum + at(`moved_${kind}`, run), 0);
  const shown = ordered().filter(total).slice(0, BARS_MAX);
  const kinds = Object.entries(SHADOWS).map(([kind, [name, place]]) => ({ kind, name, look: { place } }));
  if (!shown.some((run) => kinds.some(({ kind }) => at(`moved_${kind}`, run)))) return "No page that was moved was known to be a shadow.";
  const seen = kinds.filter(({ name }) => !hidden.has(name));
  const rows = shown.map((run) => ({
    label: labels[run],
    parts: (seen.length ? seen : kinds).map(({ kind, name, look }) => ({ name, look, value: at(`moved_${kind}`, run) / total(run) })),
  }));
  return {
    bars: { rows, x: barAxis(rows, "share of the pages moved", "share"), show: (value) => show(value, "share") },
    legend: kinds.map(({ name, look }) => ({ name, look })),
    summary: rows.slice(0, 8).map((row) => `${row.label}: ${row.parts.map((part) => `${part.name} ${show(part.value, "share")}`).join(", ")}.`).join(" "),
    table: () => ({
      columns: ["run", "moved_pages", ...kinds.map(({ kind }) => `moved_${kind}_pages`)],
      rows: ordered().filter(total).map((run) => [labels[run], total(run), ...kinds.map(({ kind }) => at(`moved_${kind}`, run))]),
    }),
  };
}

// ---- Together ----

/** @type {(place: HTMLElement) => void} */
function buildSections(place) {
  if (!data.sections.length) return place.remove();
  for (const section of data.sections) {
    const table = el("table", { class: "part" });
    const pictures = el("div", { class: "pictures" });
    sections.places.set(section, { table, pictures });
    place.append(el("h3", { class: "sub" }, section.title),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": section.title }, table), pictures);
    if (section.path === "shadows") {
      sections.moved = new Figure({
        title: "Shadows among the pages that were moved", make: movedChart, height: barsHeight,
      });
      pictures.append(sections.moved.element);
    }
  }
  return fillSections();
}

function fillSections() {
  for (const [section, { table, pictures }] of sections.places) {
    fillTableOf(section, table);
    if (section.path === "hybrid") pictures.replaceChildren(...runsWith(section).map(dividedFigure));
  }
}
