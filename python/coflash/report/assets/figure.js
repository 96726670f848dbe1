// A figure: a chart that Vega draws, the values under the pointer or the arrow keys, its data, and its files. Charts are the
// specifications of `charts.py`, whose holes are filled with axes and looks. Their colours are those of the style.

/**
 * `dash` of a line, `shape` of its markers, `fill` the opacity of an area.
 * @typedef {object} Look
 * @property {string} color
 * @property {number[]} [dash]
 * @property {string} [shape]
 * @property {number} [fill]
 */
/**
 * What is drawn: a point of a line, or a bar. Other fields are for the data alone. An interval goes from `low` to `high`; an
 * area, or a bar, begins at `from`; `part` is that of a line in pieces. `text`: Its value as text, if other than that of the
 * axis. `row`: Of a bar: its row, the name of that, its length and its end, and whether there is room for it. `stop`: Where it
 * is read.
 * @typedef {{ name: string, x?: number | null, y?: number | null, low?: number, high?: number, from?: number, part?: number |
 *   string, text?: string, row?: number, label?: string, value?: number, to?: number, shown?: boolean, stop?: number, [field:
 *   string]: any }} Row
 */
/**
 * @typedef {object} Axis
 * @property {string} label
 * @property {Unit} [unit]
 * @property {boolean} [log]
 * @property {number[]} [labelled] Of a logarithmic one the multiples of a power of ten that have a label; without a word 1 alone.
 * @property {boolean} [zero] Whether it begins at zero.
 * @property {boolean} [nice] Whether its ends are made round.
 * @property {{ at: number; text: string }[]} [ticks]
 * @property {number} [most] Its greatest value; without a word that of the data.
 * @property {boolean} [grid] Whether it has lines across the chart; without a word, the look says so.
 * @property {string} [labels] The expression of the text of a tick, other than that of its unit.
 * @property {boolean} [odds] Whether a small share is read as 1 in 200, say.
 */
/**
 * Bars have no `y`. `fields` are the columns of its data, and the fields of its rows.
 * @typedef {object} Chart
 * @property {"lines" | "steps" | "courses" | "bars"} kind
 * @property {Row[]} rows
 * @property {Record<string, Look>} looks
 * @property {Axis} x
 * @property {Axis} [y]
 * @property {Record<string, string>} fields
 * @property {boolean} [zoomable]
 */
/** A sentence where there is nothing to draw. @typedef {Chart | string} Drawing */
/** @typedef {[number, number] | null} Zoom */
/** @typedef {() => Drawing} Make */
/**
 * @typedef {object} FigureOptions
 * @property {string} title
 * @property {Make} make
 * @property {string} [note]
 * @property {(width: number, rows: Row[]) => number} [height]
 * @property {boolean} [legend]
 * @property {boolean} [small]
 * @property {(() => void) | null} [onPick]
 * @property {Metric | null} [metric]
 */

/** @type {Figure[]} */
const figures = [];
const STEPS = new Map(Object.entries({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }));
// In CSS pixels; the browser cannot say beforehand how wide paper is.
const PAPER_WIDTH = 680;
const LETTER = 6.6;
/** In pixels: an axis whose last tick is nearer to its end has the label of this tick before the end. */
const FLUSH = 24;
const DATA_ROWS_MAX = 200;
/** Units that are words. @type {Set<Unit>} */
const COUNTED = new Set(["pages", "blocks", "requests"]);
const still = matchMedia("(prefers-reduced-motion: reduce)");
let onPaper = false;
const { dashes: DASHES, markers: MARKERS } = data.charts;

/** @type {(place: number, more?: Partial<Look>) => Look} */
function series(place, more = {}) {
  return { color: `var(--series-${place % 8})`, ...more };
}

/** @type {(name: string, attributes?: Record<string, any>, ...children: Node[]) => SVGElement} */
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// The library comes packed, and is there before the first chart is.
const library = (async () => {
  const packed = Uint8Array.from(atob($("#library").textContent), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  document.head.append(el("script", {}, await new Response(unpacked).text()));
})();

/** A specification drawn in a holder. @type {(spec: object, holder: HTMLElement) => Promise<any>} */
async function drawn(spec, holder) {
  await library;
  const { view } = await /** @type {any} */ (window).vegaEmbed(holder, spec, {
    // Errors alone are told: layers that have no rows are no mistake.
    renderer: "svg", actions: false, ast: true, tooltip: false, defaultStyle: false, logLevel: 1,
  });
  return view;
}

/** What is in a hole, with what is beside it. @type {(node: any, holes: Record<string, any>) => any} */
function filled(node, holes) {
  if (Array.isArray(node)) return node.map((each) => filled(each, holes));
  if (node === null || typeof node !== "object") return node;
  const { hole, ...rest } = node;
  const own = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, filled(value, holes)]));
  return hole == null ? own : { ...holes[hole], ...own };
}

/** The specification of a chart. @type {(chart: Chart, rows: Row[], width: number, height: number, legend: boolean, title?: object) => object} */
function specOf(chart, rows, width, height, legend, title) {
  const names = Object.keys(chart.looks);
  const all = Object.values(chart.looks);
  const marked = all.some((look) => look.shape);
  const columns = Math.floor(width / (LETTER * Math.max(0, ...names.map((name) => name.length)) + 40)) || 1;
  const shown = legend && names.length > 1 ? { columns, labelLimit: width - 40, ...(marked || chart.kind === "bars" ? {} : { symbolSize: 200, symbolStrokeWidth: 1.6 }) } : null;
  /** @type {(range: unknown[]) => object} */
  const named = (range) => ({ field: "name", type: "nominal", title: null, legend: shown, scale: { domain: names, range } });
  const colour = named(all.map((look) => look.color));
  const dashes = all.map((look) => look.dash ?? DASHES[0]);
  // What is written behind a bar lies within the axis.
  const room = width - LETTER * Math.max(0, ...[...rowLines(rows, width).values()].flat().map((line) => line.length));
  const most = chart.y ? undefined : Math.max(...rows.map(({ end = 0, text = "" }) => end / (1 - LETTER * (text.length + 2) / room)));
  const layers = filled(data.charts[chart.kind], {
    x: channelOf({ ...chart.x, most }), y: chart.y ? channelOf(chart.y) : rowNames(rows, width), color: colour, fill: colour,
    shape: named(all.map((look) => look.shape ?? "stroke")),
    // A legend of markers has no dashes: these are of another domain.
    strokeDash: marked ? { ...named([]), legend: null, scale: { domain: [...names, ""], range: [...dashes, DASHES[0]] } } : named(dashes),
  });
  if (shown && !title) {
    // A click on an entry of the legend sets off what it names; with the shift key, that as well.
    layers[0].params = [{ name: "chosen", select: { type: "point", fields: ["name"] }, bind: "legend" }];
    for (const { encoding } of layers) encoding.opacity ??= { condition: { param: "chosen", value: 1 }, value: 0.12 };
  }
  if (chart.zoomable) {
    const select = { type: "interval", encodings: ["x"], translate: false, zoom: false, on: "[pointerdown[event.pointerType == 'mouse'], window:pointerup] > window:pointermove!" };
    layers.find((/** @type {any} */ layer) => layer.mark.type === "line").params = [{ name: "range", select }];
  }
  return {
    width, height, autosize: { type: "fit", contains: "padding" }, data: { values: rows.map((row) => ({ ...row })) },
    layer: layers, config: data.charts.config, ...(title ? { title } : {}),
  };
}

/** The encoding of an axis: a tick has its unit. @type {(axis: Axis) => object} */
function channelOf({ label, unit = "", log = false, zero = true, nice = true, most, ticks, labelled = [1], labels = data.charts.labels[unit], grid }) {
  if (ticks) {
    const places = ticks.map(({ at }) => at);
    const [low, high] = [Math.min(...places), Math.max(...places)];
    const aside = (high - low || 1) * 0.06;
    return {
      type: "quantitative", title: label, scale: { domain: [low - aside, high + aside], zero: false, nice: false },
      axis: { values: places, labelExpr: `${JSON.stringify(ticks.map(({ text }) => text))}[indexof(${JSON.stringify(places)}, datum.value)]` },
    };
  }
  const multiple = "round(1e6 * datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9))) / 1e6";
  const counted = COUNTED.has(unit) && !label.includes(unit) ? unit : "";
  return {
    type: "quantitative", title: (label ? [label, counted && `(${counted})`] : [counted]).filter(Boolean).join(" ") || null,
    scale: { type: log ? "log" : "linear", nice: nice && !log ? 5 : nice, domainMax: most, ...(log ? {} : { zero }) },
    axis: { labelExpr: log ? `indexof(${JSON.stringify(labelled)}, ${multiple}) >= 0 ? ${labels} : ''` : labels, tickCount: 5, grid, ...(most ? { labelFlush: FLUSH } : {}) },
  };
}

/** A value of an axis as text. @type {(axis: Axis, value: number | null | undefined) => string} */
function textAt({ unit = "", ticks, odds }, value) {
  if (ticks) return ticks.find(({ at }) => at === value)?.text ?? NONE;
  if (odds && value && value < 0.1) return `1 in ${grouped(Math.round(1 / value))}`;
  return show(value, unit) + (COUNTED.has(unit) ? ` ${unit}` : "");
}

/** The axis of a key, as far as there are values. @type {(key: Key, codes: Code[]) => Axis} */
function keyAxis({ label, places, texts }, codes) {
  return { label, ticks: [...new Set(codes)].map((code) => ({ at: places[code], text: texts[code] })) };
}

/** Bars whose parts stand one behind the other. @type {(groups: { label: string, parts: [string, number][], shown?: boolean, runs?: number }[]) => Row[]} */
function stacked(groups) {
  return groups.flatMap(({ parts, ...group }, row) => {
    let to = 0;
    return parts.map(([name, value]) => ({ ...group, row, name, value, from: to, to: to += value }));
  });
}

/** The rows as they are drawn. @type {(chart: Chart, zoom: Zoom) => Row[]} */
function drawnRows({ kind, rows, x, looks }, zoom) {
  if (kind === "bars") return rows.filter((row) => row.shown !== false && row.value).map((row) => ({ ...row, end: row.to }));
  const names = Object.keys(looks);
  // Intervals stand side by side, not one upon the other.
  const places = (x.ticks ?? []).map(({ at }) => at);
  const aside = rows.some((row) => row.low != null) ? (Math.max(...places) - Math.min(...places) || 0.1) / 100 : 0;
  let gaps = 0;
  return rows.flatMap((row, place) => {
    if (row.y == null) gaps += 1;
    if (row.y == null || row.x == null || (zoom && (row.x < zoom[0] || row.x > zoom[1]))) return [];
    const { fill = 0.12, shape } = looks[row.name];
    const shifted = row.x + aside * (names.indexOf(row.name) - (names.length - 1) / 2);
    return [{ ...row, x: shifted, stop: row.x, place, part: `${row.part ?? 0} ${gaps}`, marked: Boolean(shape), opacity: fill }];
  });
}

/** The lines of a text, by the most letters of a line. @type {(text: string, letters: number) => string[]} */
function wrapped(text, letters) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = [...lines.slice(-1), word].join(" ");
    if (lines.length && longer.length <= letters) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** The lines of the names of rows beside their bars. @type {(rows: Row[], width: number) => Map<number, string[]>} */
function rowLines(rows, width) {
  return new Map(rows.map(({ row = 0, label = "" }) => [row, wrapped(label, Math.max(14, width * 0.4 / LETTER))]));
}

/** @type {(rows: Row[], width: number) => object} */
function rowNames(rows, width) {
  const lines = rowLines(rows, width);
  const labelExpr = `${JSON.stringify([...lines.values()])}[indexof(${JSON.stringify([...lines.keys()])}, toNumber(datum.value))]`;
  return { field: "row", type: "nominal", sort: null, title: null, axis: { labelExpr, grid: false, domain: false, ticks: false, labelPadding: 4 } };
}

// `make()` gives the chart to draw, or a sentence where there is nothing to see. A figure is drawn when it comes near the
// screen, and again whenever its width or its content change.
class Figure {
  /** @type {Chart | null} */
  chart = null;
  /** @type {Row[]} */
  rows = [];
  /** @type {any} What Vega drew. */
  view = null;
  /** @type {Zoom} */
  zoom = null;
  /** @type {number | null} */
  cursor = null;
  near = false;
  width = 0;

  /** @param {FigureOptions} options */
  constructor({ title, note = "", make, height = () => 300, legend = true, small = false, onPick = null, metric = null }) {
    this.title = title;
    this.metric = metric;
    this.make = make;
    this.height = height;
    this.legend = legend && !small;
    const id = `figure-${figures.length}`;
    /** @type {(label: string, what: string, act: () => void) => HTMLElement} */
    const tool = (label, what, act) => el("button", { type: "button", "aria-label": what, title: what, click: act }, label);
    this.heading = el("h3", { id }, title);
    this.note = el("p", {}, note);
    this.data = el("div", { hidden: true });
    this.dataTool = tool("Data", `Data of “${title}” as a table`, () => { this.data.hidden = !this.data.hidden; this.fillData(); });
    this.reset = tool("Whole range", `See all of “${title}”`, () => this.zoomTo(null));
    this.reset.hidden = true;
    this.tools = el("div", { class: "tools" }, this.reset,
      ...["SVG", "PNG", "CSV"].map((name) => tool(name, `Save “${title}” as ${name}`, () => this.save(name.toLowerCase()))),
      small ? null : this.dataTool);
    this.plot = el("div", { class: "plot", tabindex: 0, role: "group", "aria-roledescription": "chart", "aria-label": title });
    this.tip = el("div", { class: "tip", hidden: true });
    const head = small && onPick
      ? el("button", { type: "button", class: "pick", title: "Show this one large", click: onPick }, this.heading)
      : this.heading;
    this.element = el("figure", { "aria-labelledby": id, class: small ? "small" : null },
      el("div", { class: "head" }, el("figcaption", {}, head, this.note), this.tools),
      el("div", { class: "canvas" }, this.plot, this.tip), this.data);
    this.listen();
    figures.push(this);
    new IntersectionObserver(([entry], observer) => {
      if (!entry.isIntersecting) return;
      observer.disconnect();
      this.near = true;
      this.redraw();
    }, { rootMargin: "600px" }).observe(this.element);
    new ResizeObserver(() => { if (this.plot.clientWidth !== this.width) this.redraw(); }).observe(this.plot);
  }

  async redraw() {
    if (!this.near) return;
    const chart = this.make();
    this.width = onPaper ? Math.min(this.plot.clientWidth, PAPER_WIDTH) : this.plot.clientWidth;
    this.clear();
    this.tools.hidden = typeof chart === "string";
    this.reset.hidden = !this.zoom;
    if (typeof chart === "string") {
      this.chart = null;
      this.plot.replaceChildren(el("p", { class: "empty" }, chart));
      return;
    }
    this.chart = chart;
    this.view = null;
    this.rows = drawnRows(chart, this.zoom);
    this.plot.setAttribute("aria-label", `${this.title}. ${this.summary(chart)} Arrow keys read the values.`);
    this.fillData();
    // Each in a task of its own: what is typed meanwhile comes first. Paper does not wait.
    if (!onPaper) await new Promise((go) => { setTimeout(go); });
    if (this.chart !== chart) return;
    const holder = el("div");
    const width = Math.max(this.width, 200);
    const view = await drawn(specOf(chart, this.rows, width, this.height(width, this.rows), this.legend), holder);
    if (this.chart !== chart) return;
    const picture = $("svg", holder);
    picture.setAttribute("aria-hidden", "true");
    this.plot.replaceChildren(picture);
    this.view = view;
  }

  // ---- Reading values ----

  listen() {
    this.plot.addEventListener("pointermove", (event) => { if (!event.buttons) this.readAt(event.offsetX, event.offsetY); });
    this.plot.addEventListener("pointerleave", () => this.clear());
    this.plot.addEventListener("blur", () => this.clear());
    this.plot.addEventListener("keydown", (event) => {
      const step = STEPS.get(event.key);
      if (event.key === "Escape") { this.clear(); if (this.zoom) this.zoomTo(null); return; }
      if (!step) return;
      event.preventDefault();
      this.walk(step);
    });
    // What was dragged over is looked at closely.
    addEventListener("pointerup", async () => {
      const { view } = this;
      if (!this.chart?.zoomable || !view) return;
      await view.runAsync();
      const { x } = view.signal("range");
      if (x) this.zoomTo([x[0], x[1]]);
    });
    this.plot.addEventListener("dblclick", () => { if (this.zoom) this.zoomTo(null); });
  }

  /** @type {(range: Zoom) => void} */
  zoomTo(range) {
    this.zoom = range;
    this.redraw();
  }

  /** The value of a row as text. @type {(chart: Chart, row: Row) => string} */
  textOf({ x, y }, row) {
    return row.text ?? textAt(y ?? x, y ? row.y : row.value);
  }

  /** A sentence for each line or bar. @type {(chart: Chart) => string} */
  summary(chart) {
    const nameOf = (/** @type {Row} */ row) => (chart.y ? row.name : row.label);
    return [...new Set(this.rows.map(nameOf))].slice(0, 8).map((name) => {
      const rows = this.rows.filter((row) => nameOf(row) === name);
      const ends = rows.length > 1 ? [rows[0], rows[rows.length - 1]] : rows;
      const said = chart.y
        ? ends.map((row) => `${this.textOf(chart, row)} at ${textAt(chart.x, row.stop)}`).join(" to ")
        : rows.map((row) => (row.text == null ? `${row.name} ` : "") + this.textOf(chart, row)).join(", ");
      return `${name}: ${said}.`;
    }).join(" ");
  }

  /** Where something can be read: bars by their number, lines by their values across. @type {(chart: Chart) => number[]} */
  stops(chart) {
    return chart.y ? [...new Set(this.rows.map((row) => row.stop ?? 0))].sort((a, b) => a - b) : this.rows.map((_, at) => at);
  }

  /** @type {(step: number) => void} */
  walk(step) {
    const stops = this.chart && this.view ? this.stops(this.chart) : [];
    if (!stops.length) return;
    // A long course is read in about sixty steps.
    const stride = Math.max(1, Math.round(stops.length / 60));
    const next = this.cursor == null ? (step > 0 ? 0 : stops.length - 1) : this.cursor + step * stride;
    this.cursor = Math.min(Math.max(next, 0), stops.length - 1);
    say(this.point(stops[this.cursor]));
  }

  /** Where values are in the picture. @type {() => { top: number, height: number, px: (x: number) => number, py: (y: any) => number }} */
  frame() {
    const { view } = this;
    const padding = view.padding();
    const [left, top] = [view.origin()[0] + padding.left, view.origin()[1] + padding.top];
    return { top, height: view.signal("height"), px: (x) => left + view.scale("x")(x), py: (y) => top + view.scale("y")(y) };
  }

  /** @type {(x: number, y: number) => void} */
  readAt(x, y) {
    const { chart } = this;
    if (!chart || !this.view) return;
    const { px, py } = this.frame();
    const stops = this.stops(chart);
    if (chart.y) {
      if (stops.length) this.point(stops.reduce((best, stop) => (Math.abs(px(stop) - x) < Math.abs(px(best) - x) ? stop : best)));
      return;
    }
    const hit = this.rows.findIndex(({ row, from = 0, to = 0 }) =>
      x >= px(from) - 1 && x <= px(to) + 1 && y >= py(row) && y <= py(row) + this.view.scale("y").bandwidth());
    if (hit < 0) this.clear();
    else this.point(hit);
  }

  /** Shows the values at a stop; gives them as a sentence. @type {(stop: number) => string} */
  point(stop) {
    const chart = /** @type {Chart} */ (this.chart);
    const { top, height, px, py } = this.frame();
    $(".cursor", this.plot)?.remove();
    const cursor = svg("g", { class: "cursor", "pointer-events": "none" });
    const bar = chart.y ? null : this.rows[stop];
    const read = bar ? [bar] : Object.keys(chart.looks).flatMap((name) => this.valueAt(chart, name, stop) ?? []);
    const values = read.map((row) => ({ name: row.name, text: this.textOf(chart, row) }));
    if (bar && bar.text == null) {
      const total = this.rows.reduce((sum, { row, value = 0 }) => sum + (row === bar.row ? value : 0), 0);
      values[0].text += ` · ${show((bar.value ?? 0) / total, "share")}`;
      values.push({ name: "total", text: textAt(chart.x, total) });
    }
    const x = bar ? (px(bar.from ?? 0) + px(bar.to ?? 0)) / 2 : px(stop);
    if (!bar) cursor.append(svg("path", { d: `M${x} ${top}V${top + height}`, stroke: "var(--soft)", "stroke-opacity": 0.5 }));
    for (const row of bar ? [] : read) {
      // On the line itself: a course without steps goes on from the point that is read.
      const { color, fill } = chart.looks[row.name];
      const at = px(chart.kind === "steps" && !chart.looks[row.name].shape ? stop : row.x ?? 0);
      if (!fill) cursor.append(svg("circle", { cx: at, cy: py(row.y), r: 4.5, fill: color, stroke: "var(--paper)" }));
    }
    $("svg", this.plot).append(cursor);
    const heading = bar ? bar.label ?? "" : `${chart.x.label} ${textAt(chart.x, stop)}`;
    this.tip.replaceChildren(el("strong", {}, heading), el("table", {}, el("tbody", {}, ...values.slice(0, 14).map(({ name, text }) =>
      el("tr", {}, el("th", { scope: "row" }, swatch(chart.looks[name]), name), el("td", {}, text))))));
    this.tip.hidden = false;
    const span = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, x + 16 + span <= this.width ? x + 16 : Math.min(x - span - 16, this.width - span))}px`;
    this.tip.style.top = `${bar ? py(bar.row) + this.view.scale("y").bandwidth() : 18}px`;
    return `${heading}: ${values.map(({ name, text }) => `${name} ${text}`).join(", ")}`;
  }

  /** The row of a line at a stop: of a course the last one until there, of points only their own. @type {(chart: Chart, name: string, stop: number) => Row | undefined} */
  valueAt({ looks }, name, stop) {
    return this.rows.findLast((row) => row.name === name && (looks[name].shape ? row.stop === stop : (row.stop ?? 0) <= stop));
  }

  clear() {
    this.tip.hidden = true;
    this.cursor = null;
    $(".cursor", this.plot)?.remove();
  }

  // ---- Files ----

  /** The data: a column for each field, and the rows that have the first. @type {(chart: Chart) => [string[], Cell[][]]} */
  table({ fields, rows }) {
    const [first, ...others] = Object.values(fields);
    return [Object.keys(fields), rows.filter((row) => first in row).map((row) => [first, ...others].map((field) => row[field]))];
  }

  fillData() {
    this.dataTool.setAttribute("aria-expanded", String(!this.data.hidden));
    if (!this.chart || this.data.hidden) return;
    const [columns, rows] = this.table(this.chart);
    const cells = rows.slice(0, DATA_ROWS_MAX).map((row) => row.map((value) => (value == null ? NONE : String(value))));
    const caption = rows.length > DATA_ROWS_MAX ? `${this.title}: the first ${DATA_ROWS_MAX} of ${grouped(rows.length)} rows; the CSV has all` : this.title;
    this.data.replaceChildren(scrolled(`Data of ${this.title}`, caption, columns, [cells], "data"));
  }

  // For paper: in light colours, at a fixed size, with title and legend. The averaged keys and the number of runs belong
  // to the figure, in a paper as well.
  /** @type {(chart: Chart) => Promise<string>} */
  async picture(chart) {
    const width = 760;
    const note = wrapped(this.note.textContent ?? "", 1.5 * width / LETTER);
    const title = { text: this.title, subtitle: note, anchor: "start", frame: "group", fontSize: 16, subtitleFontSize: 12, offset: 12 };
    const height = 90 + 16 * note.length + (chart.y ? 320 : barsHeight(width, this.rows));
    const view = await drawn(specOf(chart, this.rows, width, height, true, title), el("div"));
    const light = getComputedStyle($("#light"));
    const named = svg("title");
    named.textContent = this.title;
    return (await view.toSVG()).replace(/var\((--[\w-]+)\)/g, (/** @type {string} */ _, /** @type {string} */ name) => light.getPropertyValue(name).trim())
      .replace(/<svg[^>]*>/, (/** @type {string} */ head) => head + named.outerHTML);
  }

  /** @type {(format: string) => Promise<void>} */
  async save(format) {
    if (!this.chart) return undefined;
    const name = `${fileName(this.title)}.${format}`;
    say(`Saved ${name}`);
    if (format === "csv") return download(name, csv(...this.table(this.chart)), "text/csv");
    const source = await this.picture(this.chart);
    if (format === "svg") return download(name, source, "image/svg+xml");
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(source)}`;
    await image.decode();
    const canvas = el("canvas", { width: 2 * image.width, height: 2 * image.height });
    /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas.toBlob((file) => file && download(name, file), "image/png");
  }
}

/** @type {(width: number, rows: Row[]) => number} */
function barsHeight(width, rows) {
  return 60 + [...rowLines(rows, width).values()].reduce((sum, lines) => sum + 18 + 13 * lines.length, 0);
}

/** @type {(look: Look | undefined) => HTMLElement | null} */
function swatch(look) {
  return look ? el("i", { class: "swatch", style: `background: ${look.color}` }) : null;
}

// Nobody scrolls on paper: all figures are drawn, and as wide as paper.
for (const event of ["beforeprint", "afterprint"]) {
  addEventListener(event, () => {
    onPaper = event === "beforeprint";
    figures.forEach((figure) => { figure.near ||= onPaper; figure.redraw(); });
  });
}
