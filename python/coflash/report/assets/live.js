// A served device at work. Measures come once a second, counted since power on.

/** @typedef {{ seconds: number, values: Record<string, number> }} Moment */

/** @type {Moment[]} */
const moments = [];
const MOMENTS_MAX = 3600;
// Ratios cover this many seconds: those of single seconds would jump.
const SPAN = 10;

/** What is counted. @type {Set<Unit>} */
const WHOLE = new Set(["requests", "pages"]);

/** @typedef {(now: Moment, then: Moment) => number | null} Reading */

/** How much of it came a second. @type {(path: string) => Reading} */
const pace = (path) => (now, then) =>
  (path in now.values && now.seconds > then.seconds ? grown(path, now, then) / (now.seconds - then.seconds) : null);

/** How much of it came. @type {(path: string, now: Moment, then: Moment) => number} */
const grown = (path, now, then) => (now.values[path] ?? 0) - (then.values[path] ?? 0);

/** @type {(above: string[], below: string[]) => Reading} */
function recentRatio(above, below) {
  return (now, then) => {
    const sum = (/** @type {string[]} */ paths) => paths.reduce((total, path) => total + grown(path, now, then), 0);
    return below.some((path) => path in now.values) && sum(below) ? sum(above) / sum(below) : null;
  };
}

/** The mean of what came, from means and numbers since power on. @type {(mean: string, count: string) => Reading} */
const recentMean = (mean, count) => (now, then) => {
  const sum = (/** @type {Moment} */ { values }) => (values[mean] ?? 0) * (values[count] ?? 0);
  return mean in now.values && grown(count, now, then) ? (sum(now) - sum(then)) / grown(count, now, then) : null;
};

/** @type {(path: string) => Reading} */
const level = (path) => (now) => now.values[path] ?? null;

/** @type {(now: Moment, one: string, other: string) => boolean} */
const differ = ({ values }, one, other) => show(values[one], "ratio") !== show(values[other], "ratio");

const PROGRAMS = Object.keys(data.causes).map((cause) => `programs_pages.${cause}`);

/** @type {{ title: string, unit: Unit, lines: { name: string, look: Look, read: Reading, span?: number }[] }[]} */
const LIVE = [
  {
    title: "Requests a second", unit: "requests",
    lines: [{ name: "requests", look: { place: 0 }, read: pace("requests") }],
  },
  {
    title: "Queue depth: requests under way", unit: "",
    lines: [{ name: "mean over time", look: { place: 0 }, read: level("load.queue_depth") }],
  },
  {
    title: "Response time of this server, by the clock of the machine", unit: "ns",
    lines: [
      { name: "mean", look: { place: 0 }, read: level("load.response_mean_ns") },
      { name: "p99", look: { place: 1 }, read: level("load.response_p99_ns") },
    ],
  },
  {
    title: "Write amplification", unit: "ratio",
    lines: [
      { name: `by host writes, in ${SPAN} seconds`, look: { place: 0 }, read: recentRatio(PROGRAMS, ["host_writes_pages"]), span: SPAN },
      { name: "by host writes, since power on", look: { place: 1 }, read: level("waf_host") },
      { name: "by bytes, since power on", look: { place: 2 }, read: (now) => (differ(now, "waf_media", "waf_host") ? now.values.waf_media : null) },
    ],
  },
  {
    title: "Pages programmed a second, by cause", unit: "pages",
    lines: Object.entries(data.causes).map(([cause, name]) => ({ name, look: { cause }, read: pace(`programs_pages.${cause}`) })),
  },
  {
    title: "Valid pages that GC met, a second", unit: "pages",
    lines: [
      { name: "copied", look: { cause: "gc" }, read: pace("gc_copies_pages") },
      { name: "dropped", look: { place: 2 }, read: pace("gc_drops_pages") },
      { name: "dropped and written again", look: { place: 3 }, read: pace("drop_rewrites_pages") },
    ],
  },
  {
    title: "Cache hits", unit: "share",
    lines: [{
      name: `in ${SPAN} seconds`, look: { place: 0 }, span: SPAN,
      read: recentRatio(["cache.hits_pages"], ["cache.hits_pages", "cache.misses_pages"]),
    }],
  },
  {
    title: "Pages that the cache alone holds", unit: "pages",
    lines: [
      { name: "dirty pages", look: { place: 0 }, read: level("cache.dirty_pages") },
      { name: "most sole copies", look: { place: 1 }, read: level("sole_copies.peak_pages") },
    ],
  },
  {
    title: "Response time of the emulated device", unit: "ns",
    lines: [
      { name: `mean in ${SPAN} seconds`, look: { place: 0 }, read: recentMean("response_ns.all.mean", "requests"), span: SPAN },
      { name: "p99 since power on", look: { place: 1 }, read: level("response_ns.all.p99") },
    ],
  },
];

// A power cut begins a new session, whose counters begin at 0: no difference across it is known.
/** @type {(line: { read: Reading, span?: number }) => Point[]} */
function readings({ read, span = 1 }) {
  return moments.slice(1).map((now, before) => {
    const then = moments[Math.max(0, before + 1 - span)];
    const restarted = (now.values.requests ?? 0) < (then.values.requests ?? 0);
    return { x: now.seconds * 1e9, y: restarted ? null : read(now, then) };
  });
}

/** @type {(chart: typeof LIVE[number]) => Make} */
function liveChart({ title, unit, lines }) {
  return (zoom, hidden) => {
    const read = lines.map((line) => ({ ...line, points: readings(line) }));
    // Of lines at zero the first one stands for all: nothing came, which is not the same as nothing known.
    const moving = read.filter((line) => line.points.some((point) => point.y));
    const known = moving.length ? moving : read.filter((line) => line.points.some((point) => point.y !== null)).slice(0, 1);
    if (!known.length) return "Nothing of this has been measured yet.";
    const shown = known.filter((line) => !hidden.has(line.name));
    const ys = shown.flatMap((line) => line.points.map((point) => point.y ?? 0));
    const [low, high] = zoom ?? [moments[0].seconds * 1e9, moments[moments.length - 1].seconds * 1e9];
    return {
      zoomable: true,
      x: { label: "time", scale: linearScale(low, high, "ns", { nice: false, count: 6 }), show: (ns) => `${show(ns, "ns")} on` },
      y: { label: "", scale: linearScale(0, Math.max(0, ...ys) || 1, unit, { zero: true }), show: (value) => show(WHOLE.has(unit) ? Math.round(value) : value, unit) },
      lines: shown, legend: known.map(({ name, look }) => ({ name, look })),
      summary: known.map(({ name, points }) => `${name}: ${show(points[points.length - 1].y, unit)}.`).join(" "),
      table: () => ({
        columns: ["seconds", ...known.map((line) => line.name)],
        rows: moments.slice(1).map((moment, at) => [moment.seconds, ...known.map((line) => line.points[at].y)]),
      }),
    };
  };
}

const courses = LIVE.map((chart) => new Figure({ title: chart.title, make: liveChart(chart), height: () => 240, legend: chart.lines.length > 1 }));
$("#courses").append(...courses.map((figure) => figure.element));

function showMeasures() {
  const { values } = moments[moments.length - 1];
  const rows = metrics.filter(({ path, headline }) => values[path] || (headline && path in values))
    .map(({ path, label, about, unit }) => el("tr", {}, el("th", { scope: "row", title: about }, label), el("td", {}, show(values[path], unit))));
  $("#measures-table tbody").replaceChildren(...rows);
}

// At most once per frame: at the beginning the whole past arrives at once.
let drawing = false;
function drawSoon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    $("#state").textContent = "The device is being served.";
    // A chart that is being read stays as it is.
    for (const figure of courses) if (!figure.drag && figure.tip.hidden) figure.redraw();
    showMeasures();
  });
}

const events = new EventSource("events");
events.addEventListener("message", ({ data: text }) => {
  moments.push(JSON.parse(text));
  if (moments.length > MOMENTS_MAX) moments.shift();
  drawSoon();
});
events.addEventListener("error", () => { $("#state").textContent = "The device is not served any more. What was measured stays here."; });
