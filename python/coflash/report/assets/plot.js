// Charts as SVG: axes that name their units, lines, points with intervals, steps and stacked bars.

// The current colours, or the light ones: files are for paper.
let onPaper = false;

/** @type {(light?: boolean) => Colours} */
function theme(light = onPaper) {
  const style = getComputedStyle(light ? $("#light") : document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: of("ink"), soft: of("soft"), line: of("line"), grid: of("grid"), paper: of("paper"),
    series: Array.from({ length: 8 }, (_, place) => of(`series-${place}`)),
    ramp: Array.from({ length: 5 }, (_, place) => of(`ramp-${place}`)),
    cause: Object.fromEntries(Object.keys(data.causes).map((cause) => [cause, of(`cause-${cause.replace("_", "-")}`)])),
    font: getComputedStyle(document.body).fontFamily,
  };
}

const DASHES = ["", "7 4", "2 4", "9 3 2 3", "12 4", "4 2", "1 3", "6 2 2 2 2 2"];
const SYMBOLS = ["circle", "square", "diamond", "triangle", "cross", "circle", "square", "diamond"];

// A look is a place in the palette, a share of the ramp for ordered values, or a cause; what is filled has its opacity.
/** @type {(look: Look, colours: Colours) => string} */
function colourOf(look, colours) {
  if (look.cause) return colours.cause[look.cause];
  if (look.ramp == null) return colours.series[(look.place ?? 0) % colours.series.length];
  const at = look.ramp * (colours.ramp.length - 1);
  const low = Math.min(Math.floor(at), colours.ramp.length - 2);
  const rgb = (/** @type {string} */ hex) => [1, 3, 5].map((from) => parseInt(hex.slice(from, from + 2), 16));
  const [a, b] = [rgb(colours.ramp[low]), rgb(colours.ramp[low + 1])];
  const mixed = a.map((value, part) => Math.round(value + (b[part] - value) * (at - low)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** @type {(name: string, attributes?: Record<string, any>, ...children: Node[]) => SVGElement} */
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value != null) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// ---- Scales: from a number to the share of the axis at which it lies ----

// The factor and the name of the unit in which an axis is labelled.
/** @type {(unit: Unit, most: number) => Scale} */
function axisUnit(unit, most) {
  if (data.scales[unit]) return scaleOf(unit, most);
  if (unit === "share") return [0.01, "%"];
  if (unit === "ratio" || unit === "") return [1, ""];
  const [factor, word] = most >= 1e6 ? [1e6, "million "] : most >= 2e4 ? [1e3, "thousand "] : [1, ""];
  return [factor, word + unit];
}

/** @type {(span: number, count: number) => number} */
function niceStep(span, count) {
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 2.5, 5].find((step) => step * power >= rough * 0.999) ?? 10) * power;
}

/** @type {(value: number, step: number) => string} */
function tickText(value, step) {
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const more = Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 ? 1 : 0;
  return grouped(value || 0, Math.min(digits + more, 6)).replace("-", "−");
}

/** @type {(low: number, high: number, unit: Unit, how?: { zero?: boolean, count?: number, nice?: boolean, whole?: boolean }) => AxisScale} */
function linearScale(low, high, unit, { zero = false, count = 5, nice = true, whole = false } = {}) {
  if (zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (!(high > low)) [low, high] = [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2];
  const [factor, name] = axisUnit(unit, Math.max(Math.abs(low), Math.abs(high)));
  const step = Math.max(niceStep((high - low) / factor, count) * factor, whole ? 1 : 0);
  if (nice) [low, high] = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high * (1 + 1e-12) + step * 1e-9; index += 1) {
    ticks.push({ at: index * step, text: tickText(index * step / factor, step / factor) });
  }
  return { low, high, unit: name, ticks, minor: [], of: (value) => (value - low) / (high - low) };
}

/** @type {(low: number, high: number, unit: Unit, how?: { exact?: boolean }) => AxisScale} */
function logScale(low, high, unit, { exact = false } = {}) {
  if (!(high > low)) [low, high] = [low / 2, high * 2];
  if (!exact) [low, high] = [10 ** (Math.floor(Math.log10(low) * 4) / 4), 10 ** (Math.ceil(Math.log10(high) * 4) / 4)];
  const from = Math.log10(low);
  const to = Math.log10(high);
  const ticks = [];
  const minor = [];
  const every = Math.ceil((to - from) / 8);
  for (let power = Math.floor(from); power <= Math.ceil(to); power += 1) {
    for (let digit = 1; digit < 10; digit += 1) {
      const at = digit * 10 ** power;
      if (at < low * 0.9999 || at > high * 1.0001) continue;
      const labelled = digit === 1 ? power % every === 0 : to - from < 1.3 && (digit === 2 || digit === 5);
      if (labelled) ticks.push({ at, text: show(at, unit === "count" ? "requests" : unit) });
      else minor.push(at);
    }
  }
  return { low, high, unit: "", ticks, minor, of: (value) => (Math.log10(value) - from) / (to - from) };
}

// The levels of a key: numbers in proportion, others side by side.
/** @type {(key: Key, codes: Code[]) => AxisScale} */
function levelScale(key, codes) {
  const shown = [...new Set(codes)].sort((a, b) => a - b);
  const ticks = shown.map((code) => ({ at: code, text: key.texts[code] }));
  const numbers = key.numbers;
  const last = shown.length - 1;
  if (!numbers || shown.length < 3) {
    const place = new Map(shown.map((code, index) => [code, (index + 0.5) / shown.length]));
    return { ticks, minor: [], unit: "", of: (code) => place.get(code) ?? 0, codes: shown };
  }
  const positive = shown.map((code) => numbers[code]).filter((number) => number > 0);
  const wide = positive[positive.length - 1] / positive[0] >= 5 && numbers[shown[0]] >= 0;
  let measure = (/** @type {Code} */ code) => numbers[code];
  if (wide) {
    // Zero has no place on a logarithmic axis: it stands one step below the least value, as a note below the axis says.
    const step = positive.length > 1 ? positive[1] / positive[0] : 2;
    measure = (code) => Math.log(numbers[code] || positive[0] / step);
  }
  const [low, high] = [measure(shown[0]), measure(shown[last])];
  return { ticks, minor: [], unit: "", of: (code) => 0.05 + 0.9 * (measure(code) - low) / (high - low), codes: shown };
}

// ---- Drawing ----

const FONT = 12;
const measuring = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/** @type {(text: string, size?: number) => number} */
function widthOf(text, size = FONT) {
  measuring.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return measuring.measureText(text).width;
}

/** @type {(symbol: string, x: number, y: number, r: number) => string} */
function symbolPath(symbol, x, y, r) {
  switch (symbol) {
    case "square": return `M${x - r * 0.88} ${y - r * 0.88}h${r * 1.76}v${r * 1.76}h${-r * 1.76}z`;
    case "diamond": return `M${x} ${y - r * 1.25}L${x + r * 1.25} ${y}L${x} ${y + r * 1.25}L${x - r * 1.25} ${y}z`;
    case "triangle": return `M${x} ${y - r * 1.2}L${x + r * 1.15} ${y + r * 0.9}H${x - r * 1.15}z`;
    case "cross": return `M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`;
    default: return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }
}

/** @type {(symbol: string, x: number, y: number, colour: string, paper: string, r?: number) => SVGElement} */
function marker(symbol, x, y, colour, paper, r = 4) {
  const crossed = symbol === "cross";
  return svg("path", {
    d: symbolPath(symbol, x, y, r), fill: crossed ? "none" : colour, stroke: crossed ? colour : paper,
    "stroke-width": crossed ? 2.2 : 1.2,
  });
}

/** @type {(content: string, x: number, y: number, colours: Colours, how?: { anchor?: string, size?: number, weight?: number, rotate?: number, fill?: string }) => SVGElement} */
function text(content, x, y, colours, { anchor = "start", size = FONT, weight = null, rotate = null, fill = null } = {}) {
  const node = svg("text", {
    x, y, fill: fill ?? colours.soft, "font-size": size, "text-anchor": anchor, "font-weight": weight,
    transform: rotate == null ? null : `rotate(${rotate} ${x} ${y})`,
  });
  node.textContent = content;
  return node;
}

/** The lines of a text that is set at a width. @type {(content: string, width: number) => string[]} */
function wrapped(content, width) {
  /** @type {string[]} */
  const lines = [];
  for (const word of content.split(" ").filter(Boolean)) {
    const longer = [...lines.slice(-1), word].join(" ");
    if (lines.length && widthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// Leaves out labels that would run into the one before.
/** @type {(ticks: Tick[], at: (tick: Tick) => number, gap?: number) => Tick[]} */
function legible(ticks, at, gap = 8) {
  let end = -Infinity;
  return ticks.filter((tick) => {
    const half = widthOf(tick.text) / 2;
    if (at(tick) - half < end + gap) return false;
    end = at(tick) + half;
    return true;
  });
}

// Draws `chart` into a new SVG of that size, and sets `chart.at`, by which the values under the pointer are found.
/** @type {(chart: Chart, width: number, height: number, colours: Colours) => SVGElement} */
function draw(chart, width, height, colours) {
  const root = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height,
    "font-family": colours.font.replaceAll('"', "'"),
  });
  if (chart.bars) return drawBars(chart, root, width, height, colours);
  const { x, y } = chart;
  const yTitle = y.plain || !y.scale.unit ? y.label : y.label ? `${y.label} (${y.scale.unit})` : y.scale.unit;
  const xTitle = x.scale.unit ? `${x.label} (${x.scale.unit})` : x.label;
  const left = Math.ceil(Math.max(20, ...y.scale.ticks.map((tick) => widthOf(tick.text)))) + 12;
  const [right, top, bottom] = [14, 30, 46];
  const [w, h] = [Math.max(40, width - left - right), Math.max(40, height - top - bottom)];
  const px = (/** @type {number} */ value) => left + w * x.scale.of(value);
  const py = (/** @type {number} */ value) => top + h * (1 - y.scale.of(value));

  root.append(text(yTitle, 2, 13, colours));
  for (const tick of y.scale.ticks) {
    const at = Math.round(py(tick.at)) + 0.5;
    root.append(svg("path", { d: `M${left} ${at}H${left + w}`, stroke: colours.grid }));
    root.append(text(tick.text, left - 8, at + 4, colours, { anchor: "end" }));
  }
  const base = top + h + 0.5;
  root.append(svg("path", { d: `M${left} ${base}H${left + w}`, stroke: colours.line, "stroke-width": 1.2 }));
  for (const at of x.scale.minor) root.append(svg("path", { d: `M${px(at)} ${base}v3`, stroke: colours.line }));
  for (const tick of x.scale.ticks) root.append(svg("path", { d: `M${px(tick.at)} ${base}v5`, stroke: colours.line }));
  for (const tick of legible(x.scale.ticks, (one) => px(one.at))) {
    const half = widthOf(tick.text) / 2;
    const at = Math.min(Math.max(px(tick.at), half + 2), width - half - 2);
    root.append(text(tick.text, at, base + 19, colours, { anchor: "middle" }));
  }
  root.append(text(xTitle, left + w, height - 6, colours, { anchor: "end" }));

  const id = `clip-${Math.random().toString(36).slice(2)}`;
  root.append(svg("clipPath", { id }, svg("rect", { x: left - 6, y: top - 6, width: w + 12, height: h + 12 })));
  const body = svg("g", { "clip-path": `url(#${id})`, fill: "none", "stroke-linejoin": "round", "stroke-linecap": "round" });
  root.append(body);
  // Intervals stand side by side, not one upon the other.
  const spread = chart.lines.some((line) => line.points.some((point) => point.low != null)) ? 7 : 0;
  chart.lines.forEach((line, place) => {
    const shift = line.shift = spread * (place - (chart.lines.length - 1) / 2);
    drawLine(line, body, (value) => px(value) + shift, py, colours);
  });
  chart.at = { px, py, left, top, w, h };
  return root;
}

/** @type {(line: Line, body: SVGElement, px: (value: number) => number, py: (value: number) => number, colours: Colours) => void} */
function drawLine(line, body, px, py, colours) {
  const colour = colourOf(line.look, colours);
  const points = /** @type {(Point & { y: number })[]} */ (line.points.filter((point) => point.y != null));
  let path = "";
  let before = null;
  for (const point of line.points) {
    if (point.y == null) { before = null; continue; }
    const [at, up] = [px(point.x).toFixed(1), py(point.y).toFixed(1)];
    path += before == null || point.apart ? `M${at} ${up}` : line.step ? `H${at}V${up}` : `L${at} ${up}`;
    before = point;
  }
  if (line.look.fill && points.length) {
    // Layers lie one upon the other: this one is between its `from` and its value.
    const back = [...points].reverse().map((point) => `L${px(point.x).toFixed(1)} ${py(point.from ?? 0).toFixed(1)}`).join("");
    body.append(svg("path", { d: `${path}${back}z`, fill: colour, "fill-opacity": line.look.fill, stroke: "none" }));
    return;
  }
  if (line.area && points.length) {
    const floor = py(0).toFixed(1);
    const closed = `${path}V${floor}H${px(points[0].x).toFixed(1)}z`;
    body.append(svg("path", { d: closed, fill: colour, "fill-opacity": 0.12, stroke: "none" }));
  }
  body.append(svg("path", {
    d: path, stroke: colour, "stroke-width": line.markers ? 2.2 : 1.7, "stroke-dasharray": DASHES[line.look.dash ?? 0] || null,
    "stroke-linecap": line.look.dash ? "butt" : "round",
  }));
  for (const point of points) {
    if (point.low == null || point.high == null || point.low === point.high) continue;
    const [at, low, high] = [px(point.x), py(point.low), py(point.high)];
    const d = `M${at} ${low}V${high}M${at - 4} ${low}h8M${at - 4} ${high}h8`;
    body.append(svg("path", { d, stroke: colour, "stroke-width": 1.4, "stroke-opacity": 0.75 }));
  }
  // No line shows a point between two gaps.
  const lone = line.points.filter((point, place) => point.y != null && line.points[place - 1]?.y == null && line.points[place + 1]?.y == null);
  for (const point of /** @type {(Point & { y: number })[]} */ (line.markers || line.step ? [] : lone)) {
    body.append(marker("circle", px(point.x), py(point.y), colour, colour, 1.2));
  }
  if (line.markers) {
    for (const point of points) {
      body.append(marker(SYMBOLS[(line.look.symbol ?? 0) % SYMBOLS.length], px(point.x), py(point.y), colour, colours.paper));
    }
  }
}

// On a narrow screen a row's name stands above its bar.
/** @type {(rows: BarRow[], width: number) => boolean} */
function namesAbove(rows, width) {
  return Math.max(...rows.map((row) => widthOf(row.label))) > width * (width > 700 ? 0.45 : 0.36);
}

/** @type {(width: number, chart: Chart) => number} */
function barsHeight(width, chart) {
  const rows = chart.bars?.rows ?? [];
  return 60 + rows.length * (namesAbove(rows, width) ? 42 : 30);
}

/** @type {(chart: BarChart, root: SVGElement, width: number, height: number, colours: Colours) => SVGElement} */
function drawBars(chart, root, width, height, colours) {
  const { rows, unit, label } = chart.bars;
  const most = Math.max(1e-9, ...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, row.from ?? 0)));
  const longest = Math.max(...rows.map((row) => widthOf(row.label)));
  const above = namesAbove(rows, width);
  const left = above ? 2 : Math.ceil(longest) + 12;
  const w = width - left - Math.max(30, ...rows.map((row) => (row.text ? widthOf(row.text) + 14 : 0)));
  const scale = linearScale(0, most, unit, { zero: true, count: Math.max(2, Math.min(6, w / 90)) });
  const [top, bottom] = [6, 44];
  const each = (height - top - bottom) / rows.length;
  const px = (/** @type {number} */ value) => left + w * scale.of(value);
  const base = height - bottom;
  for (const tick of scale.ticks) {
    const at = Math.round(px(tick.at)) + 0.5;
    root.append(svg("path", { d: `M${at} ${top}V${base}`, stroke: tick.at ? colours.grid : colours.line }));
    root.append(text(tick.text, at, base + 18, colours, { anchor: tick.at || left > 20 ? "middle" : "start" }));
  }
  root.append(text(scale.unit ? `${label} (${scale.unit})` : label, left + w, height - 5, colours, { anchor: "end" }));
  /** @type {Hit[]} */
  const hits = chart.hits = [];
  rows.forEach((row, index) => {
    const start = top + index * each;
    const thick = Math.min(22, above ? each - 20 : each * 0.68);
    const y = above ? start + 17 : start + (each - thick) / 2;
    root.append(above ? text(row.label, left, start + 12, colours, { fill: colours.ink })
      : text(row.label, left - 9, y + thick / 2 + 4, colours, { anchor: "end", fill: colours.ink }));
    let at = row.from ?? 0;
    for (const part of row.parts) {
      if (!part.value) continue;
      const [from, to] = [px(at), px(at + part.value)];
      root.append(svg("rect", {
        x: from, y, width: Math.max(to - from, 0.5), height: thick, fill: colourOf(part.look, colours),
        stroke: colours.paper, "stroke-width": to - from > 3 ? 1 : 0,
      }));
      hits.push({ x0: from, x1: to, y0: start, y1: start + each, row, part });
      at += part.value;
    }
    if (row.text) root.append(text(row.text, px(at) + 6, y + thick / 2 + 4, colours, { fill: colours.ink }));
  });
  chart.at = { left, top, w, h: base - top };
  return root;
}
