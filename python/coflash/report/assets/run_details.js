// A few runs, one by one: their tails, their course over time, where their programs come from, how they wear.

const BARS_MAX = 24;

const runDetails = {
  /** @type {Kind} */
  kind: "all",
  tail: "beyond",
  course: 0,
  bars: "pages",
  /** @type {Figure[]} */
  figures: [],
  /** @type {Figure | null} */
  programs: null,
};

/** Numbers without gaps: only courses have some. @type {(texts: string[]) => number[][]} */
function columns(texts) {
  return /** @type {number[][]} */ (texts.map(unpacked));
}

// Where the runs differ in the key of the lines above, they keep its colours; else each has its own. Courses that cross often
// are told apart by colour: dashes would break them up.
/** @type {(dashed?: boolean) => Record<string, Look>} */
function looks(dashed = false) {
  const { by } = view;
  const codes = state.selected.map((run) => by?.codes[run]);
  const differ = new Set(codes).size === codes.length;
  return Object.fromEntries(state.selected.map((run, place) => {
    const { color, dash } = by && differ ? lookOf(by, by.codes[run]) : series(runs.length === 1 ? 1 : place, { dash: DASHES[place % DASHES.length] });
    return [labels[run], { color, dash: dashed ? dash : undefined }];
  }));
}

/** @type {(points: (run: Run) => Row[]) => Row[]} */
function selectedRows(points) {
  return state.selected.flatMap((run) => points(run).map((row) => ({ ...row, name: labels[run] })));
}

const NOTHING = "No run is selected: tick some in the table.";

/** @type {Make} */
function tailChart() {
  if (!state.selected.length) return NOTHING;
  const { kind } = runDetails;
  const beyond = runDetails.tail === "beyond";
  const rows = selectedRows((run) => {
    const [ns, through] = columns(data.details[run][kind]);
    const total = through[through.length - 1];
    const points = ns.map((x, at) => ({ name: "", x, through: through[at], y: beyond ? 1 - through[at] / total : through[at] / total })).filter(({ x, y }) => x && y > 0);
    return beyond && ns.length ? [{ name: "", x: ns[0] * 0.98, through: 0, y: 1 }, ...points] : points;
  });
  if (!rows.length) return "There were no such requests.";
  const times = state.selected.map((run) => columns(data.details[run][kind])[0]);
  if (times.every((ns) => ns.length === 1)) {
    return `All requests of a run take the same: ${times.map(([ns], at) => `${labels[state.selected[at]]} ${show(ns, "ns")}`).join(", ")}.`;
  }
  return {
    kind: "steps", zoomable: true, rows, looks: looks(true),
    x: { label: `response time${kind === "all" ? "" : `, ${kind}s`}`, unit: "ns", log: true, nice: false },
    y: {
      label: beyond ? "requests that take longer" : "requests that take no longer", unit: "share", log: beyond, odds: beyond,
      labels: beyond ? "datum.value > 0.99 ? 'all' : '1 in ' + format(round(1 / datum.value), ',')" : undefined,
    },
    fields: { run: "name", response_ns: "x", requests_no_longer: "through", [beyond ? "share_longer" : "share_no_longer"]: "y" },
  };
}

/** @type {Make} */
function courseChart() {
  if (!state.selected.length) return NOTHING;
  const { title, unit, path } = data.courses[runDetails.course];
  const rows = selectedRows((run) => {
    const { courses, window_ns } = data.details[run];
    return unpacked(courses[runDetails.course]).map((y, at) => ({ name: "", x: at * window_ns, y }));
  });
  if (!rows.some(({ y }) => y != null)) return "This was not recorded over time.";
  return {
    kind: "courses", zoomable: true, rows, looks: looks(),
    x: { label: "simulated time", unit: "ns", nice: false }, y: { label: title.toLowerCase().replace(/\bgc\b/, "GC"), unit },
    fields: { run: "name", start_ns: "x", [path]: "y" },
  };
}

/** @type {Make} */
function erasesChart() {
  if (!state.selected.length) return NOTHING;
  const rows = selectedRows((run) => {
    const [from, blocks] = columns(data.details[run].erases);
    if (!from.length) return [];
    const width = from.length > 1 ? from[1] - from[0] : 1;
    const bars = from.map((erases, at) => ({ name: "", x: erases - 0.5, y: blocks[at], from: 0, erases }));
    return [...bars, { name: "", x: from[from.length - 1] + width - 0.5, y: 0, from: 0, erases: from[from.length - 1] + width }];
  });
  if (!rows.length) return "Erases were not counted.";
  return {
    kind: "steps", rows, looks: looks(), x: { label: "erases of a block", zero: false, nice: false }, y: { label: "blocks" },
    fields: { run: "name", erases_from: "erases", blocks: "y" },
  };
}

// The runs that match the filter: those that differ in their seed alone together, and such points that differ in the
// key of the lines, or else of a short axis, side by side, unless the table is sorted. As many as there is room for, evenly spread.
/** @type {() => { shown: Set<Run[]>, all: Run[][] }} */
function points() {
  const { x } = view;
  const beside = view.by ?? (x && x.texts.length <= BY_MAX ? x : null);
  const rest = [...new Set([...(x ? [x] : []), ...meant])].filter((key) => key !== beside);
  const place = (/** @type {Run} */ run) => rest.map((key) => String(key.codes[run]).padStart(6)).join();
  const settings = Map.groupBy(ordered(), place);
  const sorted = state.sort.column ? [...settings] : [...settings].sort(([a], [b]) => (a < b ? -1 : 1));
  const all = sorted.map(([, members]) => groupsBy(members, (run) => beside?.codes[run] ?? 0).map(([, alike]) => alike)
    .sort(([a], [b]) => (state.sort.column ? members.indexOf(a) - members.indexOf(b) : 0)));
  const room = Math.max(1, Math.floor(BARS_MAX / Math.max(1, ...all.map((schemes) => schemes.length))));
  const spread = all.length <= room ? all
    : Array.from({ length: room }, (_, at) => all[room > 1 ? Math.round(at * (all.length - 1) / (room - 1)) : 0]);
  return { shown: new Set(spread.flat()), all: all.flat() };
}

/** @type {Make} */
function programsChart() {
  const { shown, all } = points();
  if (!shown.size) return "No run matches the filter.";
  const perPage = runDetails.bars === "per-page";
  const causes = Object.entries(data.causes).filter(([cause]) => metricAt.get(`programs_pages.${cause}`)?.values.some(Boolean));
  const whole = (/** @type {Run} */ run) => (perPage ? metricAt.get("host_writes_pages")?.values[run] || NaN : 1);
  const rows = stacked(all.map((members) => ({
    label: data.points[members[0]], shown: shown.has(members), runs: members.length,
    parts: causes.map(([cause, name]) => [name, average(members, (run) => (metricAt.get(`programs_pages.${cause}`)?.values[run] ?? 0) / whole(run)) || 0]),
  })));
  return {
    kind: "bars", rows, x: { label: perPage ? "programs per page that the host wrote" : "flash programs", unit: perPage ? "ratio" : "pages", grid: true },
    looks: Object.fromEntries(causes.map(([cause, name]) => [name, { color: `var(--cause-${cause.replace("_", "-")})` }])),
    fields: { point: "label", runs: "runs", cause: "name", [perPage ? "programs_per_page" : "programs_pages"]: "value" },
  };
}

/** @type {(place: HTMLElement) => void} */
function buildRunDetails(place) {
  const tail = new Figure({ title: "Response times", make: tailChart, height: (width) => (width < 480 ? 350 : 430) });
  const time = new Figure({ title: data.courses[0]?.title ?? "Over time", make: courseChart, note: matchMedia("(hover: none)").matches ? "" : "Drag over the chart to look closer, double-click to see all." });
  const wear = new Figure({ title: "Erases of each block", make: erasesChart });
  const kinds = data.kinds.filter((kind) => metricAt.get(`response_ns.${kind}.count`));
  $(".head", tail.element).after(el("div", { class: "controls" },
    menu("tail", "Axes", [option("longer than (log–log)", "beyond"), option("no longer than", "through")], (value) => { runDetails.tail = value; tail.redraw(); }),
    kinds.length > 1 ? menu("kind", "Requests", kinds.map((kind) => option(kind === "all" ? "all" : `${kind}s`, kind)), (value) => { runDetails.kind = /** @type {Kind} */ (value); tail.redraw(); }) : null));
  $(".head", time.element).after(el("div", { class: "controls" }, menu("course", "Over time", data.courses.map(({ title }, at) => option(title, at)), (at) => {
    runDetails.course = Number(at);
    time.title = time.heading.textContent = data.courses[runDetails.course].title;
    time.redraw();
  })));
  runDetails.figures = data.courses.length ? [tail, time, wear] : [tail, wear];
  place.append(el("ul", { class: "chips", id: "chips", "aria-label": "Runs drawn here", hidden: runs.length === 1 }),
    ...runDetails.figures.map(({ element }) => element));
  fillChips();
}

/** @type {(place: HTMLElement) => void} */
function buildPrograms(place) {
  const figure = new Figure({ title: "Flash programs by cause", make: programsChart, height: barsHeight });
  $(".head", figure.element).after(el("div", { class: "controls" },
    menu("bars", "Counted in", [option("pages", "pages"), option("programs per host page", "per-page")], (value) => { runDetails.bars = value; figure.redraw(); })));
  place.append(figure.element);
  runDetails.programs = figure;
  notePrograms();
}

function notePrograms() {
  const { shown, all } = points();
  const most = Math.max(0, ...all.map((members) => members.length));
  const left = shown.size < all.length ? `${shown.size} of ${grouped(all.length)} points, evenly spread; the CSV has all.` : "";
  if (runDetails.programs) runDetails.programs.note.textContent = [most > 1 ? "Means over the seeds." : "", left].filter(Boolean).join(" ");
}

function fillChips() {
  const look = looks();
  $("#chips").replaceChildren(...state.selected.map((run) => el("li", {}, swatch(look[labels[run]]), labels[run],
    runs.length > 1 ? el("button", { type: "button", "aria-label": `Draw ${labels[run]} no longer`, click: () => select(run, false) }, "×") : null)));
}
