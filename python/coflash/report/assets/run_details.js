// A few runs, one by one: their tails, their course over time, where their programs come from, how they wear.

/**
 * What is shown over time: a title, a unit, and how it is made of columns, rates and all programs.
 * @typedef {(column: string) => Numbers | undefined} At
 * @typedef {(column: Numbers | undefined) => Numbers | undefined} Rate
 * @type {Record<string, [string, Unit, (at: At, rate: Rate, programs: Numbers | undefined) => Numbers | undefined]>}
 */
const COURSES = {
  response_mean: ["Mean response", "ns", (at) => at("response_mean_ns")],
  response_max: ["Longest response", "ns", (at) => at("response_max_ns")],
  waf: ["Write amplification, by host writes", "ratio", (at, _, programs) => ratioOf(programs, at("host_writes_pages"))],
  programs: ["Pages programmed per second", "pages", (_, rate, programs) => rate(programs)],
  copies: ["Pages copied by GC per second", "pages", (at, rate) => rate(at("programs_gc_pages"))],
  drops: ["Pages dropped by GC per second", "pages", (at, rate) => rate(at("gc_drops_pages"))],
  spared: ["Pages of victims invalid early, per second", "pages", (at, rate) => rate(at("gc_spared_pages"))],
  erases: ["Blocks erased per second", "blocks", (at, rate) => rate(at("erases_blocks"))],
  requests: ["Requests per second", "requests", (at, rate) => rate(at("requests"))],
  written: ["Pages written by the host per second", "pages", (at, rate) => rate(at("host_writes_pages"))],
  read: ["Pages read by the host per second", "pages", (at, rate) => rate(at("host_reads_pages"))],
  hits: ["Cache hits", "share", (at) => ratioOf(at("cache_hits_pages"), sumOf([at("cache_hits_pages"), at("cache_misses_pages")]))],
};
const BARS_MAX = 24;

const runDetails = {
  /** @type {Kind} */
  kind: "all",
  tail: "beyond",
  course: "response_mean",
  bars: "pages",
  /** @type {Figure[]} */
  figures: [],
  /** @type {Figure | null} */
  programs: null,
};

/** @type {(columns: (Numbers | undefined)[]) => number[] | undefined} */
function sumOf(columns) {
  const known = columns.flatMap((column) => (column ? [column] : []));
  return known[0]?.map((_, at) => known.reduce((sum, column) => sum + (column[at] ?? 0), 0));
}

/** @type {(above: Numbers | undefined, below: Numbers | undefined) => Numbers | undefined} */
function ratioOf(above, below) {
  return above && below && above.map((value, at) => {
    const whole = below[at];
    return value != null && whole ? value / whole : null;
  });
}

/** @type {(run: Run, name: string) => Numbers | undefined} */
function course(run, name) {
  const { series, windowNs } = details(run);
  const at = (/** @type {string} */ column) => series[column];
  /** @type {Rate} */
  const rate = (column) => (windowNs ? column?.map((value) => (value ?? 0) / (windowNs / 1e9)) : undefined);
  const programs = sumOf(data.series.filter((column) => column.startsWith("programs_")).map(at));
  return COURSES[name][2](at, rate, programs);
}

// Where the runs differ in the key of the lines above, they keep its colours; else each has its own.
/** @type {() => Map<Run, Look>} */
function looks() {
  const { by } = view;
  const codes = state.selected.map((run) => by?.codes[run]);
  const told = new Set(codes).size === codes.length;
  return new Map(state.selected.map((run, place) => {
    const look = by && told ? lookOf(by, by.codes[run]) : { place: runs.length === 1 ? 1 : place % 8, dash: place % DASHES.length };
    return [run, { ...look, symbol: undefined }];
  }));
}

// Courses that cross often are told apart by colour: dashes would break them up.
/** @type {(hidden: Set<string>, points: (run: Run) => Point[], more?: { step?: boolean, area?: boolean, dashed?: boolean }) => (Line & { run: Run })[]} */
function selectedLines(hidden, points, more = {}) {
  const look = looks();
  const shown = state.selected.filter((run) => !hidden.has(labels[run]));
  return (shown.length ? shown : state.selected).map((run) =>
    ({ name: labels[run], look: { ...look.get(run), dash: more.dashed ? look.get(run)?.dash : 0 }, points: points(run), run, ...more })).filter((line) => line.points.length);
}

/** @type {(dashed?: boolean) => Legend[]} */
function selectedLegend(dashed = false) {
  const look = looks();
  return state.selected.map((run) => ({ name: labels[run], look: { ...look.get(run), dash: dashed ? look.get(run)?.dash : 0 } }));
}

const NOTHING = "No run is selected: tick some in the table.";

/** @type {Make} */
function tailChart(zoom, hidden) {
  if (!state.selected.length) return NOTHING;
  const { kind } = runDetails;
  const beyond = runDetails.tail === "beyond";
  const lines = selectedLines(hidden, (run) => {
    const { ns, through } = details(run)[kind];
    const total = through[through.length - 1];
    const points = ns.map((x, at) => ({ x, y: beyond ? 1 - through[at] / total : through[at] / total }));
    if (!beyond) return points;
    const above = points.map((point) => ({ ...point, y: point.y > 0 ? point.y : null }));
    return [{ x: ns[0] * 0.98, y: 1 }, ...above].filter((point) => point.x);
  }, { step: true, dashed: true });
  if (!lines.length) return "There were no such requests.";
  if (lines.every((line) => details(line.run)[kind].ns.length === 1)) {
    return `All requests of a run take the same: ${lines.map((line) => `${line.name} ${show(details(line.run)[kind].ns[0], "ns")}`).join(", ")}.`;
  }
  const all = lines.flatMap((line) => line.points);
  const [low, high] = zoom ?? [Math.min(...all.map((point) => point.x)), Math.max(...all.map((point) => point.x))];
  const least = Math.min(...all.map((point) => point.y ?? 1));
  return {
    zoomable: true,
    x: { label: `response time${kind === "all" ? "" : `, ${kind}s`}`, unit: "ns", log: true, low, high, nice: false, show: (ns) => show(ns, "ns") },
    y: {
      label: beyond ? "requests that take longer" : "requests that take no longer", unit: "share", log: beyond,
      low: beyond ? 10 ** Math.floor(Math.log10(least)) : 0, high: 1, nice: false,
      labels: beyond ? "datum.value > 0.99 ? 'all' : '1 in ' + format(round(1 / datum.value), ',')" : undefined,
      show: (share) => (beyond && share < 0.1 ? `1 in ${grouped(Math.round(1 / share))}` : show(share, "share")),
    },
    lines, legend: selectedLegend(true),
    summary: lines.map((line) => `${line.name}: p99 ${show(metricAt.get(`response_ns.${kind}.p99`)?.values[line.run], "ns")}.`).join(" "),
    table: () => ({
      columns: ["run", "response_ns", "requests_no_longer", "share_no_longer", "share_longer"],
      rows: state.selected.flatMap((run) => {
        const { ns, through } = details(run)[kind];
        const total = through[through.length - 1];
        return ns.map((x, at) => [labels[run], x, through[at], through[at] / total, 1 - through[at] / total]);
      }),
    }),
  };
}

/** @type {Make} */
function courseChart(zoom, hidden) {
  if (!state.selected.length) return NOTHING;
  const [title, unit] = COURSES[runDetails.course];
  const lines = selectedLines(hidden, (run) => {
    const values = course(run, runDetails.course);
    const { windowNs } = details(run);
    return values ? values.map((y, at) => ({ x: at * windowNs, y })) : [];
  });
  const known = lines.flatMap((line) => line.points).filter((point) => point.y != null);
  if (!known.length) return "This was not recorded over time.";
  const [low, high] = zoom ?? [0, Math.max(...known.map((point) => point.x))];
  const most = Math.max(...known.filter((point) => point.x >= low && point.x <= high).map((point) => point.y ?? 0));
  return {
    zoomable: true,
    x: { label: "simulated time", unit: "ns", low, high: high || 1, nice: false, show: (ns) => `${show(ns, "ns")} on` },
    y: { label: title.toLowerCase().replace(/\bgc\b/, "GC"), unit, low: 0, high: most || 1, show: (value) => show(value, unit) },
    lines, legend: selectedLegend(),
    summary: `${title} over simulated time of ${plural(lines.length, "run")}.`,
    table: () => ({
      columns: ["run", "start_ns", ...data.series],
      rows: state.selected.flatMap((run) => {
        const { windows, windowNs, series } = details(run);
        return Array.from({ length: windows }, (_, at) => [labels[run], at * windowNs, ...data.series.map((name) => series[name][at])]);
      }),
    }),
  };
}

/** @type {Make} */
function erasesChart(_, hidden) {
  if (!state.selected.length) return NOTHING;
  const lines = selectedLines(hidden, (run) => {
    const { from, blocks } = details(run).erases;
    if (!from.length) return [];
    const width = from.length > 1 ? from[1] - from[0] : 1;
    const bars = from.map((x, at) => ({ x: x - 0.5, y: blocks[at], first: x, width }));
    return [{ x: bars[0].x, y: 0 }, ...bars, { x: from[from.length - 1] + width - 0.5, y: 0 }];
  }, { step: true, area: true });
  const all = lines.flatMap((line) => line.points);
  if (!all.length) return "Erases were not counted.";
  const xs = all.map((point) => point.x);
  return {
    x: {
      label: "erases of a block", low: Math.min(...xs), high: Math.max(...xs), nice: false,
      show: (x) => `${grouped(Math.ceil(x))} erases`,
    },
    y: { label: "blocks", low: 0, high: Math.max(...all.map((point) => point.y ?? 0)), show: (blocks) => plural(blocks, "block") },
    lines, legend: selectedLegend(),
    summary: lines.map((line) => `${line.name}: mean ${show(metricAt.get("erase_count.mean")?.values[line.run], "")}, at most ${show(metricAt.get("erase_count.max")?.values[line.run], "")}.`).join(" "),
    table: () => ({
      columns: ["run", "erases_from", "blocks"],
      rows: state.selected.flatMap((run) => {
        const { from, blocks } = details(run).erases;
        return from.map((least, at) => [labels[run], least, blocks[at]]);
      }),
    }),
  };
}

// The runs that match the filter: those that differ in their seed alone together, and such points that differ in the
// key of the lines side by side, unless the table is sorted. As many as there is room for, evenly spread.
/** @type {() => { shown: Run[][], all: Run[][] }} */
function points() {
  const { x, by } = view;
  const rest = [...new Set([...(x ? [x] : []), ...meant])].filter((key) => key !== by);
  const place = (/** @type {Run} */ run) => rest.map((key) => String(key.codes[run]).padStart(6)).join();
  /** @type {Map<string, Map<Code, Run[]>>} */
  const settings = new Map();
  for (const run of ordered()) {
    const schemes = settings.get(place(run)) ?? new Map();
    const code = by ? by.codes[run] : 0;
    settings.set(place(run), schemes.set(code, [...(schemes.get(code) ?? []), run]));
  }
  const sorted = state.sort.column ? [...settings] : [...settings].sort(([a], [b]) => (a < b ? -1 : 1));
  const all = sorted.map(([, schemes]) => (state.sort.column ? [...schemes] : [...schemes].sort(([a], [b]) => a - b)).map(([, members]) => members));
  const room = Math.max(1, Math.floor(BARS_MAX / Math.max(1, ...all.map((schemes) => schemes.length))));
  const spread = all.length <= room ? all
    : Array.from({ length: room }, (_, at) => all[room > 1 ? Math.round(at * (all.length - 1) / (room - 1)) : 0]);
  return { shown: spread.flat(), all: all.flat() };
}

/** @type {Make} */
function programsChart(_, hidden) {
  const { shown, all } = points();
  if (!shown.length) return "No run matches the filter.";
  const perPage = runDetails.bars === "per-page";
  const causes = Object.entries(data.causes).map(([cause, name]) => ({ cause, name, values: metricAt.get(`programs_pages.${cause}`)?.values ?? [] }))
    .filter((one) => one.values.some(Boolean));
  const seen = causes.filter((one) => !hidden.has(one.name));
  const writes = metricAt.get("host_writes_pages")?.values;
  const scale = (/** @type {Run} */ run) => (perPage ? 1 / (writes?.[run] || NaN) : 1);
  /** The mean over the runs of a point. @type {(members: Run[], value: (run: Run) => number) => number} */
  const mean = (members, value) => members.reduce((sum, run) => sum + value(run), 0) / members.length;
  const rows = shown.map((members) => ({
    label: data.points[members[0]],
    parts: (seen.length ? seen : causes).map((one) => (
      { name: one.name, look: { cause: one.cause }, value: mean(members, (run) => (one.values[run] ?? 0) * scale(run)) || 0 })),
  }));
  return {
    bars: {
      rows, x: barAxis(rows, perPage ? "programs per page that the host wrote" : "flash programs", perPage ? "ratio" : "pages"),
      show: (value) => (perPage ? show(value, "ratio") : plural(Math.round(value), "page")),
    },
    legend: causes.map((one) => ({ name: one.name, look: { cause: one.cause } })),
    summary: rows.slice(0, 8).map((row) => `${row.label}: ${row.parts.filter((part) => part.value).map((part) => `${part.name} ${perPage ? show(part.value, "ratio") : grouped(Math.round(part.value))}`).join(", ")}.`).join(" "),
    table: () => ({
      columns: ["point", "runs", ...causes.map((one) => one.cause)],
      rows: all.map((members) => [data.points[members[0]], members.length, ...causes.map((one) => mean(members, (run) => one.values[run] ?? 0))]),
    }),
  };
}

// A row of choices of which one holds.
/** @type {(label: string, options: [string, string][], chosen: string, act: (value: string) => void) => HTMLElement} */
function choices(label, options, chosen, act) {
  const name = `choice-${fileName(label)}`;
  return el("fieldset", { class: "choices" }, el("legend", {}, label), ...options.map(([value, text]) => {
    const input = el("input", { type: "radio", name, value, change: () => act(value) });
    input.checked = value === chosen;
    return el("label", {}, input, el("span", {}, text));
  }));
}

/** @type {(place: HTMLElement) => void} */
function buildRunDetails(place) {
  const tail = new Figure({ title: "Response times", make: tailChart, height: (width) => (width < 480 ? 320 : 400) });
  const time = new Figure({ title: COURSES[runDetails.course][0], make: courseChart, note: matchMedia("(hover: none)").matches ? "" : "Drag over the chart to look closer, double-click to see all." });
  const wear = new Figure({ title: "Erases of each block", make: erasesChart });
  const kinds = data.kinds.filter((kind) => metricAt.get(`response_ns.${kind}.count`));
  $(".head", tail.element).after(el("div", { class: "controls" },
    choices("Axes", [["beyond", "longer than (log–log)"], ["through", "no longer than"]], runDetails.tail, (value) => { runDetails.tail = value; tail.redraw(); }),
    kinds.length > 1 ? choices("Requests", kinds.map((kind) => [kind, kind === "all" ? "all" : `${kind}s`]), runDetails.kind, (value) => { runDetails.kind = /** @type {Kind} */ (value); tail.redraw(); }) : null));
  const known = Object.entries(COURSES).filter(([name]) => runs.length && course(runs[0], name)?.some((value) => value));
  const over = menu("course", "Over time", known.map(([name, [title]]) => option(title, name)), (name) => {
    runDetails.course = name;
    time.title = time.heading.textContent = COURSES[name][0];
    time.redraw();
  });
  $(".head", time.element).after(el("div", { class: "controls" }, over));
  place.append(el("ul", { class: "chips", id: "chips", "aria-label": "Runs drawn here", hidden: runs.length === 1 }),
    tail.element, time.element, wear.element);
  runDetails.figures = [tail, time, wear];
  fillChips();
}

/** @type {(place: HTMLElement) => void} */
function buildPrograms(place) {
  const figure = new Figure({
    title: "Flash programs by cause", make: programsChart, height: barsHeight,
  });
  $(".head", figure.element).after(el("div", { class: "controls" },
    choices("Counted in", [["pages", "pages"], ["per-page", "programs per host page"]], runDetails.bars, (value) => { runDetails.bars = value; figure.redraw(); })));
  place.append(figure.element);
  runDetails.programs = figure;
  notePrograms();
}

function notePrograms() {
  const { shown, all } = points();
  const most = Math.max(0, ...shown.map((members) => members.length));
  const left = shown.length < all.length ? `${shown.length} of ${grouped(all.length)} points, evenly spread; the CSV has all.` : "";
  if (runDetails.programs) runDetails.programs.note.textContent = [most > 1 ? "Means over the seeds." : "", left].filter(Boolean).join(" ");
}

function fillChips() {
  const look = looks();
  const colours = theme();
  $("#chips").replaceChildren(...state.selected.map((run) => el("li", {}, swatch(look.get(run) ?? {}, colours, false), labels[run],
    runs.length > 1 ? el("button", { type: "button", "aria-label": `Draw ${labels[run]} no longer`, click: () => select(run, false) }, "×") : null)));
}
