// Any measure over any key that varied.

const BY_MAX = 12;
const RAMP = 11;

const view = {
  x: keys[data.first.over ?? 0],
  by: data.first.by == null ? null : keys[data.first.by],
  metric: metricAt.get("waf_host") ?? metrics[0],
  interval: "auto",
  axis: "zero",
  figures: /** @type {Figure[]} */ ([]),
};

// How a value of the key by which lines are told apart looks: ordered ones by a ramp, others by the palette.
/** @type {(key: Key, code: Code) => Look} */
function lookOf(key, code) {
  const count = key.texts.length;
  const shape = MARKERS[code % MARKERS.length];
  return key.numbers && count > 3 ? { color: `var(--ramp-${Math.round(code / (count - 1) * RAMP)})`, shape } : series(code, { dash: DASHES[code % DASHES.length], shape });
}

// The ends of an interval of the mean: 95 % confidence where runs differ in their seed alone, else least to most.
/** @type {(metric: Metric, values: number[], mean: number, ofSeeds: boolean) => number[]} */
function spread(metric, values, mean, ofSeeds) {
  if (values.length === 1 || view.interval === "none") return [];
  if (view.interval === "range" || (view.interval === "auto" && !ofSeeds)) return [Math.min(...values), Math.max(...values)];
  return confidence(values, mean, metric.bin_width * mean, 0);
}

/** Runs by a value, in the order of the values. @type {(members: Run[], value: (run: Run) => Code) => [Code, Run[]][]} */
function groupsBy(members, value) {
  return [...Map.groupBy(members, value)].sort(([a], [b]) => a - b);
}

/**
 * The mean of some runs, at a value of the axis and of the key of the lines.
 * @typedef {Row & { y: number, members: Run[], line: Code, code: Code, runs: number }} Point
 */

// A line joins two points of an axis of numbers, if their runs are alike in all keys but those of the axis, the lines, and the seed.
/** @type {(metric: Metric) => Point[]} */
function explored(metric) {
  const { x, by } = view;
  const measured = filtered().filter((run) => metric.values[run] != null);
  return groupsBy(measured, (run) => by?.codes[run] ?? 0).flatMap(([line, ofLine]) => {
    let [part, before] = [0, ""];
    return groupsBy(ofLine, (run) => x.codes[run]).map(([code, members], place) => {
      const values = members.map((run) => metric.values[run] ?? 0);
      const settings = [...new Set(members.map((run) => others().map((key) => key.codes[run]).join()))].sort();
      if (place && (!x.numbers || settings.join(";") !== before)) part += 1;
      before = settings.join(";");
      const y = average(values, Number);
      const [low, high] = spread(metric, values, y, settings.length === 1);
      const range = low == null ? "" : ` (${show(low, metric.unit)} … ${show(high, metric.unit)}, ${members.length} runs)`;
      return {
        name: by ? by.texts[line] : metric.label, x: x.places[code], y, low, high, part, members, line, code,
        text: show(y, metric.unit) + range, level: x.numbers ? x.numbers[code] : x.texts[code], runs: members.length,
      };
    });
  });
}

/** @type {(metric: Metric, label: string) => Drawing} */
function measureChart(metric, label) {
  const { x, by } = view;
  const rows = explored(metric);
  if (!rows.length) return "No run that matches the filter has this measure.";
  const looks = Object.fromEntries(rows.map(({ name, line }) => [name, by ? lookOf(by, line) : series(1, { shape: MARKERS[0] })]));
  return {
    kind: "lines", rows, looks, x: keyAxis(x, rows.map(({ code }) => code)),
    y: { label, unit: metric.unit, log: view.axis === "log" && rows.every(({ y, low = y }) => low > 0), zero: view.axis === "zero" },
    fields: { ...(by ? { [by.path]: "name" } : {}), [x.path]: "level", [metric.path]: "y", low: "low", high: "high", runs: "runs" },
  };
}

// The keys, without the seed, that have neither the axis nor the lines.
/** @type {() => Key[]} */
function others() {
  return meant.filter((key) => key !== view.x && key !== view.by);
}

// What stands for an interval, over what is averaged and of how many runs, and why points are not joined.
/** @type {() => string} */
function averagedOver() {
  const points = explored(view.metric);
  if (!points.length) return "";
  const pooled = [...others(), ...(seedKey ? [seedKey] : [])]
    .filter((key) => points.some(({ members }) => new Set(members.map((run) => key.codes[run])).size > 1));
  const counts = points.map(({ runs: count }) => count);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const seeds = pooled.every((key) => key === seedKey);
  const interval = { none: "no interval", range: "least to most" }[view.interval]
    ?? (seeds || view.interval === "confidence" ? "95 % confidence of the mean" : "least to most");
  const mean = `Mean over ${pooled.map((key) => (key === seedKey ? "seeds" : key.label)).join(", ")} (n = ${least === most ? least : `${least} … ${most}`}); bars: ${interval}${seeds && data.replayed ? ", for preconditioning and random choices on the same trace" : ""}.`;
  return [
    most === 1 ? "Each point is one run (n = 1)." : pooled.length ? mean : "",
    seeds ? "" : "Fix a key in the filter to see one value of it.",
    view.x.numbers && points.some(({ part }) => part) ? `Points that are not joined differ in ${others().map((key) => key.label).join(", ")} as well.` : "",
  ].filter(Boolean).join(" ");
}

/** @type {(place: HTMLElement) => void} */
function buildExplorer(place) {
  /** @type {(id: string, label: string, options: Node[], act: (value: string) => void) => HTMLElement} */
  const choice = (id, label, options, act) => menu(id, label, options, (value) => { act(value); fillExplorer(); writeAddress(); });
  /** @type {(texts: Record<string, string>, chosen: string) => HTMLElement[]} */
  const named = (texts, chosen) => Object.entries(texts).map(([value, text]) => option(text, value, value === chosen));
  /** @type {(chosen: Key | null, most: number) => HTMLElement[]} */
  const keyOptions = (chosen, most) => keys.flatMap((key, at) => (key.texts.length <= most ? option(key.label, at, key === chosen) : []));
  const sectionOf = new Map(data.sections.flatMap((section) => section.measures.map((measure) => [measure.path, section.title])));
  const groupOf = (/** @type {Metric} */ metric) => (metric.headline ? "Measures" : sectionOf.get(metric.path) ?? "All else that was counted");
  const measures = ["Measures", ...data.sections.map((section) => section.title), "All else that was counted"].flatMap((label) => {
    const members = metrics.filter((metric) => groupOf(metric) === label);
    return members.length ? el("optgroup", { label }, ...members.map((metric) => option(metric.label, metric.path, metric === view.metric))) : [];
  });
  const controls = el("div", { class: "fields", role: "group", "aria-label": "What the charts of this section show" },
    choice("metric", "Measure", measures, (path) => { view.metric = metricAt.get(path) ?? view.metric; }),
    choice("over", "Over", keyOptions(view.x, Infinity), (at) => {
      const key = keys[Number(at)];
      if (key === view.by) { view.by = view.x; $("#by").value = String(keys.indexOf(view.by)); }
      view.x = key;
    }),
    choice("by", "Lines by", [option("nothing", "", !view.by), ...keyOptions(view.by, BY_MAX)], (at) => {
      const key = at === "" ? null : keys[Number(at)];
      if (key && key === view.x) { view.x = view.by ?? keys.find((other) => other !== key) ?? key; $("#over").value = String(keys.indexOf(view.x)); }
      view.by = key === view.x ? null : key;
    }),
    choice("interval", "Interval", named({ auto: "automatic", confidence: "95 % confidence", range: "least to most", none: "none" }, view.interval), (value) => { view.interval = value; }),
    choice("axis", "Axis", named({ zero: "from zero", fitted: "fitted", log: "logarithmic" }, view.axis), (value) => { view.axis = value; }));
  const large = new Figure({
    title: capital(view.metric.label), make: () => measureChart(view.metric, view.metric.label), height: (width) => (width < 480 ? 330 : 420),
  });
  const small = metrics.filter((metric) => metric.headline && metric.values.some(Boolean)).map((metric) => new Figure({
    metric, title: capital(metric.label), small: true, height: () => 210, make: () => measureChart(metric, metric.unit === "ratio" ? "programs for each page" : ""),
    onPick: () => {
      view.metric = metric;
      $("#metric").value = metric.path;
      fillExplorer();
      large.element.scrollIntoView({ block: "center", behavior: still.matches ? "auto" : "smooth" });
    },
  }));
  view.figures = [large, ...small];
  place.append(controls, large.element,
    el("h3", { class: "sub" }, "The same for every measure"), el("div", { class: "grid" }, ...small.map((figure) => figure.element)));
  fillExplorer();
}

function fillExplorer() {
  if (!view.figures.length) return;
  const [large] = view.figures;
  large.title = large.heading.textContent = capital(view.metric.label);
  large.note.textContent = [view.metric.about, averagedOver()].filter(Boolean).join(" ");
  // The one that is large is not shown small as well.
  view.figures.forEach((figure) => { figure.element.hidden = figure.metric === view.metric; });
  view.figures.forEach((figure) => figure.redraw());
}
