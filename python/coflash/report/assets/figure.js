// A figure: a chart with its legend, the values under the pointer or the arrow keys, and its files.

/** @type {Figure[]} */
const figures = [];
const STEPS = new Map(Object.entries({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }));
// In CSS pixels; the browser cannot say beforehand how wide paper is.
const PAPER_WIDTH = 680;
const still = matchMedia("(prefers-reduced-motion: reduce)");

// `make(zoom)` gives the chart to draw, or a sentence where there is nothing to see. A figure is drawn when it comes near
// the screen, and again whenever its width, its colours or its content change.
class Figure {
  /** @type {Chart | null} */
  chart = null;
  /** @type {Set<string>} */
  hidden = new Set();
  /** @type {Zoom} */
  zoom = null;
  /** @type {number | null} */
  cursor = null;
  /** @type {{ from: number, to: number } | null} */
  drag = null;
  near = false;
  width = 0;

  /** @param {FigureOptions} options */
  constructor({ title, note = "", make, height = () => 300, legend = true, small = false, onPick = null, metric = null }) {
    this.title = title;
    this.metric = metric;
    this.make = make;
    this.heightOf = height;
    this.withLegend = legend;
    const id = `figure-${figures.length}`;
    /** @type {(label: string, what: string, act: () => void) => HTMLElement} */
    const tool = (label, what, act) => el("button", { type: "button", "aria-label": what, title: what, click: act }, label);
    this.heading = el("h3", { id }, title);
    this.note = el("p", {}, note);
    this.data = el("div", { class: "scroll data", hidden: true, tabindex: 0, role: "region", "aria-label": `Data of ${title}` });
    this.dataTool = tool("Data", `Data of “${title}” as a table`, () => this.toggleData());
    this.dataTool.setAttribute("aria-expanded", "false");
    this.reset = tool("Whole range", "Show the whole range again", () => this.zoomTo(null));
    this.reset.hidden = true;
    this.tools = el("div", { class: "tools", role: "group", "aria-label": `Files and data of ${title}` },
      this.reset,
      tool("SVG", `Save “${title}” as SVG`, () => this.save("svg")),
      tool("PNG", `Save “${title}” as PNG`, () => this.save("png")),
      tool("CSV", `Save the data of “${title}” as CSV`, () => this.save("csv")),
      small ? null : this.dataTool);
    this.legend = el("ul", { class: "legend", "aria-label": "What is shown" });
    this.plot = el("div", { class: "plot", tabindex: 0, role: "group", "aria-roledescription": "chart", "aria-label": title });
    this.tip = el("div", { class: "tip", hidden: true });
    const head = small && onPick
      ? el("button", { type: "button", class: "pick", title: "Show this one large", click: onPick }, this.heading)
      : this.heading;
    this.element = el("figure", { "aria-labelledby": id, class: small ? "small" : null },
      el("div", { class: "head" }, el("figcaption", {}, head, this.note), this.tools),
      legend ? this.legend : null, el("div", { class: "canvas" }, this.plot, this.tip), small ? null : this.data);
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

  made() {
    return this.make(this.zoom, this.hidden);
  }

  redraw() {
    if (!this.near) return;
    const chart = this.made();
    this.width = onPaper ? Math.min(this.plot.clientWidth, PAPER_WIDTH) : this.plot.clientWidth;
    this.tip.hidden = true;
    this.cursor = null;
    if (typeof chart === "string") {
      this.chart = null;
      this.plot.replaceChildren(el("p", { class: "empty" }, chart));
      this.legend.replaceChildren();
      this.tools.hidden = true;
      return;
    }
    this.tools.hidden = false;
    this.plot.setAttribute("aria-label", `${this.title}. ${chart.summary ?? ""} Arrow keys read the values.`);
    this.reset.hidden = !this.zoom;
    this.chart = chart;
    this.fillLegend();
    if (!this.data.hidden) this.fillData();
    this.show(chart);
  }

  /** @type {(chart: Chart) => Promise<void>} */
  async show(chart) {
    // Each in a task of its own: what is typed meanwhile comes first. Paper does not wait.
    if (!onPaper) await new Promise((go) => { setTimeout(go); });
    if (this.chart !== chart) return;
    const width = Math.max(this.width, 200);
    const { view, picture } = await drawn(specOf(chart, width, this.heightOf(width, chart), theme()));
    if (this.chart !== chart) return;
    picture.setAttribute("aria-hidden", "true");
    this.plot.replaceChildren(picture);
    const padding = view.padding();
    const [left, top] = [view.origin()[0] + padding.left, view.origin()[1] + padding.top];
    const [x, y] = [view.scale("x"), view.scale("y")];
    const px = (/** @type {number} */ value) => left + x(value);
    chart.at = { left, top, w: view.signal("width"), h: view.signal("height"), px, py: (/** @type {number} */ value) => top + y(value), value: (/** @type {number} */ at) => x.invert(at - left) };
    if (chart.bars) {
      const rows = /** @type {any[]} */ (barRows(chart));
      chart.hits = rows.map(({ row, from, to, name }) => ({
        x0: px(from), x1: px(to), y0: top + y(row), y1: top + y(row) + y.bandwidth(), row: chart.bars.rows[row],
        part: chart.bars.rows[row].parts.find((part) => part.name === name) ?? chart.bars.rows[row].parts[0],
      }));
    }
  }

  fillLegend() {
    const { chart } = this;
    const colours = theme();
    this.legend.replaceChildren(...(this.withLegend ? chart?.legend ?? [] : []).map(({ name, look, fixed }) => {
      const entry = [swatch(look, colours, Boolean(chart?.bars)), name];
      if (fixed) return el("li", {}, el("span", { class: "key" }, ...entry));
      const shown = !this.hidden.has(name);
      const toggle = () => {
        this.hidden[shown ? "add" : "delete"](name);
        this.redraw();
        $$("button", this.legend).find((button) => button.dataset.name === name)?.focus();
      };
      return el("li", {}, el("button", {
        type: "button", class: "key", "aria-pressed": String(shown), "data-name": name, click: toggle,
      }, ...entry));
    }));
  }

  // ---- Reading values ----

  listen() {
    this.plot.addEventListener("pointermove", (event) => {
      if (this.drag) return this.stretch(event);
      this.readAt(event.offsetX, event.offsetY);
    });
    this.plot.addEventListener("pointerleave", () => this.clear());
    this.plot.addEventListener("blur", () => this.clear());
    this.plot.addEventListener("keydown", (event) => {
      const step = STEPS.get(event.key);
      if (event.key === "Escape") { this.clear(); if (this.zoom) this.zoomTo(null); return; }
      if (!step) return;
      event.preventDefault();
      this.walk(step);
    });
    this.plot.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button || !this.chart?.zoomable) return;
      this.drag = { from: event.offsetX, to: event.offsetX };
      this.plot.setPointerCapture(event.pointerId);
    });
    this.plot.addEventListener("pointerup", () => this.release());
    this.plot.addEventListener("dblclick", () => { if (this.zoom) this.zoomTo(null); });
  }

  /** @type {(chart: Chart) => number[]} */
  stops(chart) {
    if (chart.bars) return (chart.hits ?? []).map((_, place) => place);
    const { low, high, place = (/** @type {number} */ x) => x } = chart.x;
    const all = new Set(chart.lines.flatMap((line) => line.points.map((point) => point.x)));
    return [...all].filter((x) => place(x) >= low && place(x) <= high).sort((a, b) => a - b);
  }

  /** @type {(step: number) => void} */
  walk(step) {
    const stops = this.chart ? this.stops(this.chart) : [];
    if (!stops.length) return;
    // A long course is read in about sixty steps.
    const stride = Math.max(1, Math.round(stops.length / 60));
    const next = this.cursor == null ? (step > 0 ? 0 : stops.length - 1) : this.cursor + step * stride;
    this.cursor = Math.min(Math.max(next, 0), stops.length - 1);
    say(this.point(stops[this.cursor]));
  }

  /** @type {(x: number, y: number) => void} */
  readAt(x, y) {
    const { chart } = this;
    if (!chart?.at) return;
    if (chart.bars) {
      const hit = (chart.hits ?? []).findIndex((one) => x >= one.x0 - 1 && x <= one.x1 + 1 && y >= one.y0 && y <= one.y1);
      return hit < 0 ? this.clear() : void this.point(hit);
    }
    const px = (/** @type {number} */ stop) => this.across(chart, stop);
    const stops = this.stops(chart);
    if (!stops.length) return;
    const nearest = stops.reduce((best, stop) => (Math.abs(px(stop) - x) < Math.abs(px(best) - x) ? stop : best));
    this.point(nearest);
  }

  /** Where a value of the axis is. @type {(chart: LineChart, value: number) => number} */
  across(chart, value) {
    return chart.at?.px(chart.x.place?.(value) ?? value) ?? 0;
  }

  /** Shows the values at a stop; gives them as a sentence. @type {(stop: number) => string} */
  point(stop) {
    const { chart } = this;
    if (!chart?.at) return "";
    $(".cursor", this.plot)?.remove();
    const cursor = svg("g", { class: "cursor", "pointer-events": "none" });
    const colours = theme();
    /** @type {{ look?: Look, name: string, text: string }[]} */
    let rows;
    let heading;
    let x;
    if (chart.bars) {
      const hit = /** @type {Hit[]} */ (chart.hits)[stop];
      const total = hit.row.parts.reduce((sum, part) => sum + part.value, 0);
      heading = hit.row.label;
      rows = hit.row.text ? [{ look: hit.part.look, name: hit.part.name, text: chart.bars.show(hit.part.value) }]
        : [{ look: hit.part.look, name: hit.part.name, text: `${chart.bars.show(hit.part.value)} · ${show(hit.part.value / total, "share")}` },
          { name: "total", text: chart.bars.show(total) }];
      x = (hit.x0 + hit.x1) / 2;
    } else {
      const { px, py, top, h } = chart.at;
      heading = chart.x.show(stop);
      x = this.across(chart, stop);
      cursor.append(svg("path", { d: `M${x} ${top}V${top + h}`, stroke: colours.soft, "stroke-opacity": 0.5 }));
      rows = [];
      for (const line of chart.lines) {
        const point = valueAt(line, stop);
        if (point?.y == null) continue;
        // On the line itself: a course without steps goes on from the point that is read, and lines stand side by side.
        const { place = (/** @type {number} */ value) => value } = chart.x;
        const at = px(place(line.step ? stop : point.x) + (line.shift ?? 0));
        if (!line.look.fill) cursor.append(svg("circle", { cx: at, cy: py(point.y), r: 4.5, fill: colourOf(line.look, colours), stroke: colours.paper }));
        rows.push({ look: line.look, name: line.name, text: point.text ?? chart.y.show(point.y) });
      }
    }
    $("svg", this.plot).append(cursor);
    this.tip.replaceChildren(el("strong", {}, heading), el("table", {}, el("tbody", {}, ...rows.slice(0, 14).map((row) =>
      el("tr", {}, el("th", { scope: "row" }, row.look ? swatch(row.look, colours, Boolean(chart.bars)) : "", row.name),
        el("td", {}, row.text))))));
    this.tip.hidden = false;
    const span = this.tip.offsetWidth;
    const right = x + 16 + span <= this.width;
    this.tip.style.left = `${Math.max(0, right ? x + 16 : Math.min(x - span - 16, this.width - span))}px`;
    this.tip.style.top = `${chart.bars ? chart.hits?.[stop].y1 : 18}px`;
    return `${heading}: ${rows.map((row) => `${row.name} ${row.text}`).join(", ")}`;
  }

  clear() {
    this.tip.hidden = true;
    this.cursor = null;
    $(".cursor", this.plot)?.remove();
  }

  // ---- A closer look: drag along the axis of time ----

  /** @type {(event: PointerEvent) => void} */
  stretch(event) {
    if (!this.drag || !this.chart?.at) return;
    this.drag.to = event.offsetX;
    $(".band", this.plot)?.remove();
    const [from, to] = [this.drag.from, this.drag.to].sort((a, b) => a - b);
    const { top, h } = this.chart.at;
    $("svg", this.plot).append(svg("rect", { class: "band", x: from, y: top, width: to - from, height: h, fill: theme().soft, "fill-opacity": 0.18 }));
  }

  release() {
    const { chart, drag } = this;
    this.drag = null;
    $(".band", this.plot)?.remove();
    if (!drag || !chart?.at || chart.bars || Math.abs(drag.to - drag.from) < 8) return;
    const { left, w, value } = chart.at;
    const [from, to] = [drag.from, drag.to].map((px) => value(Math.min(Math.max(px, left), left + w))).sort((a, b) => a - b);
    this.zoomTo([from, to]);
  }

  /** @type {(range: Zoom) => void} */
  zoomTo(range) {
    this.zoom = range;
    this.redraw();
  }

  // ---- Files ----

  toggleData() {
    this.data.hidden = !this.data.hidden;
    this.dataTool.setAttribute("aria-expanded", String(!this.data.hidden));
    if (!this.data.hidden) this.fillData();
  }

  fillData() {
    if (!this.chart) return;
    const { columns, rows } = this.chart.table();
    const cells = (/** @type {DataTable["rows"][number]} */ row) => row.map((value) => el("td", {}, value == null ? NONE : String(value)));
    const most = 200;
    this.data.replaceChildren(el("table", {},
      el("caption", {}, rows.length > most ? `${this.title}: the first ${most} of ${grouped(rows.length)} rows; the CSV has all` : this.title),
      el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...rows.slice(0, most).map((row) => el("tr", {}, ...cells(row))))));
  }

  // For paper: in light colours, at a fixed size, with title and legend. The averaged keys and the number of runs belong
  // to the figure, in a paper as well.
  /** @type {() => Promise<any>} */
  async picture() {
    const chart = /** @type {Chart} */ (this.made());
    const width = 760;
    const note = nameLines(this.note.textContent ?? "", 1.5 * width);
    const title = { text: this.title, subtitle: note, anchor: "start", frame: "group", fontSize: 16, subtitleFontSize: 12, offset: 12 };
    const height = 90 + 16 * note.length + (chart.bars ? barsHeight(width, chart) : 320);
    return (await drawn(specOf(chart, width, height, theme(true), title))).view;
  }

  /** @type {(format: "svg" | "png" | "csv") => Promise<void>} */
  async save(format) {
    if (!this.chart) return undefined;
    const name = `${fileName(this.title)}.${format}`;
    say(`Saved ${name}`);
    if (format === "csv") {
      const { columns, rows } = this.chart.table();
      return download(name, csv(columns, rows), "text/csv");
    }
    const view = await this.picture();
    if (format === "png") {
      const canvas = await view.toCanvas(2);
      return canvas.toBlob((/** @type {Blob | null} */ file) => file && download(name, file), "image/png");
    }
    const title = svg("title");
    title.textContent = this.title;
    const source = await view.toSVG();
    return download(name, source.replace(/<svg[^>]*>/, (/** @type {string} */ head) => head + title.outerHTML), "image/svg+xml");
  }
}

// The value of a line at a stop: of a course its last one, of points only their own.
/** @type {(line: Line, stop: number) => Point | undefined} */
function valueAt(line, stop) {
  if (line.markers) return line.points.find((point) => point.x === stop && point.y != null);
  let low = 0;
  let high = line.points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.points[middle].x <= stop) low = middle + 1;
    else high = middle;
  }
  const point = line.points[low - 1];
  return point && point.y != null ? point : undefined;
}

/** @type {Record<string, string>} */
const OUTLINES = { square: "M-3-3h6v6h-6z", diamond: "M0-4.4L4.4 0L0 4.4L-4.4 0z", "triangle-up": "M0-4L4 3.2H-4z", cross: "M-4-1.4h2.6V-4h2.8v2.6H4v2.8H1.4V4h-2.8V1.4H-4z" };

/** @type {(look: Look, colours: Colours, filled: boolean) => SVGElement} */
function swatch(look, colours, filled) {
  const fill = colourOf(look, colours);
  const outline = look.symbol == null ? null : OUTLINES[SYMBOLS[look.symbol % SYMBOLS.length]] ?? "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z";
  return svg("svg", { width: 22, height: 12, "aria-hidden": "true" }, ...(filled || look.cause || look.fill
    ? [svg("rect", { x: 1, y: 1, width: 18, height: 10, rx: 2, fill, "fill-opacity": look.fill })]
    : [...(look.points ? [] : [svg("path", { d: "M1 6h20", stroke: fill, "stroke-width": 2.2, "stroke-dasharray": look.dash ? DASHES[look.dash].map((/** @type {number} */ each) => 1.6 * each).join(" ") : null })]),
      ...(outline ? [svg("path", { d: outline, transform: "translate(11 6)", fill, stroke: colours.paper })] : [])]));
}

// Nobody scrolls on paper: all figures are drawn.
addEventListener("beforeprint", () => {
  onPaper = true;
  figures.forEach((figure) => { figure.near = true; });
  redrawAll();
});
addEventListener("afterprint", () => {
  onPaper = false;
  redrawAll();
});

function redrawAll() {
  figures.forEach((figure) => figure.redraw());
}
