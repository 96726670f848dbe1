// Any measure over any key that varied.

const BY_MAX = 12;

const view = (() => {
  const numbers = meant.filter((key) => key.numbers).sort((a, b) => b.texts.length - a.texts.length);
  const named = meant.filter((key) => !key.numbers).sort((a, b) => b.texts.length - a.texts.length);
  const x = numbers[0] ?? named[0] ?? keys[0];
  const by = [question?.key, ...named, ...numbers].find((key) => key && key !== x && key.texts.length <= BY_MAX) ?? null;
  const metric = metricAt.get("waf_host") ?? metrics[0];
  const figures = /** @type {Figure[]} */ ([]);
  return { x, by, metric, interval: "auto", axis: "zero", figures };
})();

// How a value of the key by which lines are told apart looks: ordered ones by a ramp, others by the palette.
/** @type {(key: Key, code: Code) => Look} */
function lookOf(key, code) {
  const count = key.texts.length;
  if (key.numbers && count > 3) return { ramp: code / (count - 1), symbol: code % SYMBOLS.length };
  return { place: code, dash: code % DASHES.length, symbol: code };
}

// The mean of runs and its interval: 95 % confidence where they differ in their seed alone, else least to most.
/** @type {(metric: Metric, values: number[], ofSeeds: boolean) => { y: number, low?: number, high?: number, n: number }} */
function spread(metric, values, ofSeeds) {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  if (n === 1 || view.interval === "none") return { y: mean, n };
  if (view.interval === "range" || (view.interval === "auto" && !ofSeeds)) {
    return { y: mean, low: Math.min(...values), high: Math.max(...values), n };
  }
  const [low, high] = confidence(values, mean, metric.bin_width * mean, 0);
  return { y: mean, low, high, n };
}

// A line joins two points only if their runs are alike in all keys but those of the axis, the lines, and the seed.
/** @type {(metric: Metric) => (Line & { points: (Point & { members: Run[] })[] })[]} */
function explored(metric) {
  const { x, by } = view;
  const rest = others();
  /** @type {Map<Code, Map<Code, Run[]>>} */
  const groups = new Map();
  for (const run of filtered()) {
    const value = metric.values[run];
    if (value == null) continue;
    const [line, at] = [by ? by.codes[run] : 0, x.codes[run]];
    const places = groups.get(line) ?? new Map();
    const members = places.get(at) ?? [];
    members.push(run);
    groups.set(line, places.set(at, members));
  }
  const lines = [...groups].sort(([a], [b]) => a - b).map(([line, at]) => ({
    name: by ? by.texts[line] : metric.label,
    look: by ? lookOf(by, line) : { place: 1, symbol: 0 },
    markers: true,
    points: [...at].sort(([a], [b]) => a - b).map(([code, members]) => {
      const settings = [...new Set(members.map((run) => rest.map((key) => key.codes[run]).join()))].sort();
      const point = { x: code, ...spread(metric, members.map((run) => metric.values[run] ?? 0), settings.length === 1) };
      const range = point.low == null || point.n === 1 ? "" : ` (${show(point.low, metric.unit)} … ${show(point.high, metric.unit)}, ${point.n} runs)`;
      return { ...point, members, settings: settings.join(";"), text: show(point.y, metric.unit) + range };
    }).map((point, place, all) => ({ ...point, apart: place > 0 && all[place - 1].settings !== point.settings })),
  }));
  return lines.map((line) => ({ ...line, look: { ...line.look, points: line.points.every((point, place) => !place || point.apart) } }));
}

/** @type {(metric: Metric, hidden: Set<string>, label: string) => Drawing} */
function measureChart(metric, hidden, label) {
  const { x, by } = view;
  const all = explored(metric);
  if (!all.length) return "No run that matches the filter has this measure.";
  const seen = all.filter((line) => !hidden.has(line.name));
  const lines = seen.length ? seen : all;
  const points = lines.flatMap((line) => line.points);
  const values = points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y].map(Number));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const log = view.axis === "log" && low > 0;
  const zero = view.axis === "zero" && !log;
  return {
    x: keyAxis(x, points.map((point) => point.x)),
    y: { label, unit: metric.unit, log, low: zero ? Math.min(0, low) : low, high: zero ? Math.max(0, high) : high, show: (value) => show(value, metric.unit) },
    lines,
    legend: by ? all.map(({ name, look }) => ({ name, look })) : [],
    summary: lines.map((line) => {
      const [first, last] = [line.points[0], line.points[line.points.length - 1]];
      return `${line.name}: ${show(first.y, metric.unit)} at ${x.texts[first.x]} to ${show(last.y, metric.unit)} at ${x.texts[last.x]}.`;
    }).join(" "),
    table: () => ({
      columns: [...(by ? [by.path] : []), x.path, metric.path, "low", "high", "runs"],
      rows: all.flatMap((line) => line.points.map((point) =>
        [...(by ? [line.name] : []), x.numbers ? x.numbers[point.x] : x.texts[point.x], point.y, point.low ?? null, point.high ?? null, point.n])),
    }),
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
  const points = explored(view.metric).flatMap((line) => line.points);
  if (!points.length) return "";
  const pooled = [...others(), ...(seedKey ? [seedKey] : [])]
    .filter((key) => points.some(({ members }) => new Set(members.map((run) => key.codes[run])).size > 1));
  const counts = points.map((point) => point.members.length);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const seeds = pooled.every((key) => key === seedKey);
  const interval = { none: "no interval", range: "least to most" }[view.interval]
    ?? (seeds || view.interval === "confidence" ? "95 % confidence of the mean" : "least to most");
  const mean = `Mean over ${pooled.map((key) => (key === seedKey ? "seeds" : key.label)).join(", ")} (n = ${least === most ? least : `${least} … ${most}`}); bars: ${interval}${seeds && data.replayed ? ", for preconditioning and random choices on the same trace" : ""}.`;
  return [
    most === 1 ? "Each point is one run (n = 1)." : pooled.length ? mean : "",
    seeds ? "" : "Fix a key in the filter to see one value of it.",
    points.some((point) => point.apart) ? `Points that are not joined differ in ${others().map((key) => key.label).join(", ")} as well.` : "",
  ].filter(Boolean).join(" ");
}

/** @type {(place: HTMLElement) => void} */
function buildExplorer(place) {
  if (runs.length < 2 || !view.x) return place.remove();
  /** @type {(id: string, label: string, options: Node[], act: (value: string) => void) => HTMLElement} */
  const choice = (id, label, options, act) => menu(id, label, options, (value) => { act(value); fillExplorer(); writeAddress(); });
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
    choice("interval", "Interval", [
      ...[["automatic", "auto"], ["95 % confidence", "confidence"], ["least to most", "range"], ["none", "none"]]
        .map(([text, value]) => option(text, value, value === view.interval)),
    ], (value) => { view.interval = value; }),
    choice("axis", "Axis", [["from zero", "zero"], ["fitted", "fitted"], ["logarithmic", "log"]]
      .map(([text, value]) => option(text, value, value === view.axis)), (value) => { view.axis = value; }));
  const large = new Figure({
    title: capital(view.metric.label), make: (_, hidden) => measureChart(view.metric, hidden, view.metric.label), height: (width) => (width < 480 ? 300 : 380),
  });
  const small = metrics.filter((metric) => metric.headline && metric.values.some(Boolean)).map((metric) => new Figure({
    metric, title: capital(metric.label), small: true, legend: false, height: () => 210, make: () => measureChart(metric, large.hidden, metric.unit === "ratio" ? "programs for each page" : ""),
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
  const redraw = large.redraw.bind(large);
  let seen = "";
  // What its legend hides is hidden in the small ones, too.
  large.redraw = () => {
    redraw();
    if (seen !== [...large.hidden].join()) {
      seen = [...large.hidden].join();
      small.forEach((figure) => figure.redraw());
    }
  };
  fillExplorer();
  return undefined;
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
