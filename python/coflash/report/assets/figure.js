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
  /** @type {Drawn | null} */
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
    const height = this.heightOf(this.width, chart);
    const picture = draw(chart, Math.max(this.width, 200), height, theme());
    picture.setAttribute("aria-hidden", "true");
    this.chart = /** @type {Drawn} */ (chart);
    this.plot.replaceChildren(picture);
    this.plot.setAttribute("aria-label", `${this.title}. ${chart.summary ?? ""} Arrow keys read the values.`);
    this.reset.hidden = !this.zoom;
    this.fillLegend();
    if (!this.data.hidden) this.fillData();
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

  /** @type {(chart: Drawn) => number[]} */
  stops(chart) {
    if (chart.bars) return chart.hits.map((_, place) => place);
    const { low = -Infinity, high = Infinity } = chart.x.scale.codes ? {} : chart.x.scale;
    const all = new Set(chart.lines.flatMap((line) => line.points.map((point) => point.x)));
    return [...all].filter((x) => x >= low && x <= high).sort((a, b) => a - b);
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
    if (!chart) return;
    if (chart.bars) {
      const hit = chart.hits.findIndex((one) => x >= one.x0 - 1 && x <= one.x1 + 1 && y >= one.y0 && y <= one.y1);
      return hit < 0 ? this.clear() : void this.point(hit);
    }
    const { px } = chart.at;
    const stops = this.stops(chart);
    if (!stops.length) return;
    const nearest = stops.reduce((best, stop) => (Math.abs(px(stop) - x) < Math.abs(px(best) - x) ? stop : best));
    this.point(nearest);
  }

  /** Shows the values at a stop; gives them as a sentence. @type {(stop: number) => string} */
  point(stop) {
    const { chart } = this;
    if (!chart) return "";
    $(".cursor", this.plot)?.remove();
    const cursor = svg("g", { class: "cursor", "pointer-events": "none" });
    const colours = theme();
    /** @type {{ look?: Look, name: string, text: string }[]} */
    let rows;
    let heading;
    let x;
    if (chart.bars) {
      const hit = chart.hits[stop];
      const total = hit.row.parts.reduce((sum, part) => sum + part.value, 0);
      heading = hit.row.label;
      rows = hit.row.text ? [{ look: hit.part.look, name: hit.part.name, text: chart.bars.show(hit.part.value) }]
        : [{ look: hit.part.look, name: hit.part.name, text: `${chart.bars.show(hit.part.value)} · ${show(hit.part.value / total, "share")}` },
          { name: "total", text: chart.bars.show(total) }];
      x = (hit.x0 + hit.x1) / 2;
    } else {
      const { px, py, top, h } = chart.at;
      heading = chart.x.show(stop);
      x = px(stop);
      cursor.append(svg("path", { d: `M${x} ${top}V${top + h}`, stroke: colours.soft, "stroke-opacity": 0.5 }));
      rows = [];
      for (const line of chart.lines) {
        const point = valueAt(line, stop);
        if (point?.y == null) continue;
        // On the line itself: a course without steps goes on from the point that is read, and lines stand side by side.
        const at = px(line.step ? stop : point.x) + (line.shift ?? 0);
        if (!line.look.fill) cursor.append(marker("circle", at, py(point.y), colourOf(line.look, colours), colours.paper, 4.5));
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
    this.tip.style.top = `${chart.bars ? chart.hits[stop].y1 : 18}px`;
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
    if (!this.drag || !this.chart) return;
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
    if (!drag || !chart || chart.bars || Math.abs(drag.to - drag.from) < 8) return;
    const { x, at: { left, w } } = chart;
    const { low = 0, high = 1 } = x.scale;
    const at = (/** @type {number} */ px) => {
      const share = Math.min(Math.max((px - left) / w, 0), 1);
      return x.log ? low * (high / low) ** share : low + (high - low) * share;
    };
    this.zoomTo([at(Math.min(drag.from, drag.to)), at(Math.max(drag.from, drag.to))]);
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

  // For paper: in light colours, at a fixed size, with title and legend.
  picture() {
    const chart = /** @type {Chart} */ (this.made());
    const colours = theme(true);
    const [width, pad] = [760, 18];
    const height = chart.bars ? Math.max(160, 60 + chart.bars.rows.length * 30) : 380;
    const body = draw(chart, width - 2 * pad, height, colours);
    const entries = (chart.legend ?? []).filter(({ name }) => !this.hidden.has(name));
    let [x, y] = [pad, 54];
    const keyed = svg("g");
    for (const { name, look } of entries.length > 1 ? entries : []) {
      const span = 38 + widthOf(name);
      if (x + span > width - pad) [x, y] = [pad, y + 20];
      keyed.append(mark(look, colours, x, y - 4, Boolean(chart.bars)), text(name, x + 26, y, colours, { fill: colours.ink }));
      x += span;
    }
    const top = entries.length > 1 ? y + 18 : 48;
    // The averaged keys and the number of runs belong to the figure, in a paper as well.
    const note = wrapped(this.note.textContent ?? "", width - 2 * pad);
    const tall = top + height + pad + 16 * note.length;
    const whole = svg("svg", {
      xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${tall}`, width, height: tall,
      "font-family": body.getAttribute("font-family"),
    });
    const title = svg("title");
    title.textContent = this.title;
    whole.append(title, svg("rect", { width: "100%", height: "100%", fill: colours.paper }),
      text(this.title, pad, 30, colours, { size: 16, weight: 600, fill: colours.ink }), keyed,
      svg("g", { transform: `translate(${pad} ${top})` }, ...body.childNodes),
      ...note.map((line, at) => text(line, pad, top + height + 16 * (at + 1), colours)));
    return whole;
  }

  /** @type {(format: "svg" | "png" | "csv") => void} */
  save(format) {
    if (!this.chart) return undefined;
    const name = `${fileName(this.title)}.${format}`;
    say(`Saved ${name}`);
    if (format === "csv") {
      const { columns, rows } = this.chart.table();
      return download(name, csv(columns, rows), "text/csv");
    }
    const picture = this.picture();
    const source = new XMLSerializer().serializeToString(picture);
    if (format === "svg") return download(name, source, "image/svg+xml");
    const image = new Image();
    image.addEventListener("load", () => {
      const canvas = el("canvas", { width: 2 * image.width, height: 2 * image.height });
      canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((file) => file && download(name, file), "image/png");
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
    return undefined;
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

/** @type {(look: Look, colours: Colours, x: number, y: number, filled: boolean) => SVGElement} */
function mark(look, colours, x, y, filled) {
  const colour = colourOf(look, colours);
  if (filled || look.cause || look.fill) return svg("rect", { x, y: y - 5, width: 18, height: 10, rx: 2, fill: colour, "fill-opacity": look.fill });
  return svg("g", {},
    ...(look.points ? [] : [svg("path", { d: `M${x} ${y}h20`, stroke: colour, "stroke-width": 2.2, "stroke-dasharray": DASHES[look.dash ?? 0] || null })]),
    ...(look.symbol == null ? [] : [marker(SYMBOLS[look.symbol % SYMBOLS.length], x + 10, y, colour, colours.paper, 3.6)]));
}

/** @type {(look: Look, colours: Colours, filled: boolean) => SVGElement} */
function swatch(look, colours, filled) {
  return svg("svg", { width: 22, height: 12, "aria-hidden": "true" }, mark(look, colours, 1, 6, filled));
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
