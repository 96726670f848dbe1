// Charts: the specifications of `charts.py`, whose holes are filled with rows, axes and looks, and which Vega draws.

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
  };
}

const { dashes: DASHES, markers: SYMBOLS } = data.charts;

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

// The library comes packed, and is there before the first chart is.
const library = (async () => {
  const packed = Uint8Array.from(atob($("#library").textContent), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  document.head.append(el("script", {}, await new Response(unpacked).text()));
})();

/** A specification drawn: its view, and its picture. @type {(spec: object) => Promise<{ view: any, picture: SVGElement }>} */
async function drawn(spec) {
  await library;
  const holder = el("div");
  const { view } = await vegaEmbed(holder, spec, { renderer: "svg", actions: false, ast: true, tooltip: false, defaultStyle: false });
  return { view, picture: $("svg", holder) };
}

/** What is in a hole, with what is beside it. @type {(node: any, holes: Record<string, any>) => any} */
function filled(node, holes) {
  if (Array.isArray(node)) return node.map((each) => filled(each, holes));
  if (node === null || typeof node !== "object") return node;
  const { hole, ...rest } = node;
  const own = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, filled(value, holes)]));
  if (hole == null) return own;
  return typeof holes[hole] === "object" ? { ...holes[hole], ...own } : holes[hole];
}

/** The specification of a chart. @type {(chart: Chart, width: number, height: number, colours: Colours, title?: object) => object} */
function specOf(chart, width, height, colours, title) {
  const shown = chart.bars ? chart.bars.rows.flatMap((row) => row.parts) : chart.lines;
  const looks = new Map(shown.map(({ name, look }) => [name, look]));
  const names = [...looks.keys()];
  const legend = title && names.length > 1 ? {} : null;
  /** @type {(range: (look: Look) => any, more?: string[]) => object} */
  const named = (range, more = []) => ({
    field: "name", type: "nominal", title: null, legend: more.length ? null : legend,
    scale: { domain: [...names, ...more], range: [...looks.values(), ...more.map(() => ({}))].map(range) },
  });
  const colour = named((look) => colourOf(look, colours));
  const holes = {
    ...colours, color: colour, fill: colour, shape: named((look) => SYMBOLS[(look.symbol ?? 0) % SYMBOLS.length]),
    // Of another domain, dashes stay out of the legend of markers.
    strokeDash: named((look) => DASHES[look.points ? 0 : look.dash ?? 0] ?? DASHES[0], [""]),
    ...(chart.bars ? { x: channelOf(chart.bars.x), y: rowNames(chart.bars.rows, width) } : { x: channelOf(chart.x), y: channelOf(chart.y) }),
  };
  const kind = chart.bars ? "bars" : chart.lines.some((line) => line.step) ? "steps" : "lines";
  return {
    width, height, autosize: { type: "fit", contains: "padding" }, data: { values: chart.bars ? barRows(chart) : lineRows(chart) },
    layer: filled(data.charts[kind], holes), config: filled(data.charts.config, holes), ...(title ? { title } : {}),
  };
}

/** The encoding of an axis: a tick has its unit. @type {(axis: Axis) => object} */
function channelOf({ label, unit = "", low, high, log = false, nice = true, ticks = null, grid, labels = data.charts.labels[unit] }) {
  // Of ten ticks within a power of ten the first one has a label.
  const power = "log(datum.value) / LN10";
  const labelled = log ? `abs(${power} - round(${power})) < 1e-6 ? ${labels} : ''` : labels;
  const spare = high > low ? 0 : Math.abs(low || 1) / 2;
  const counted = ["pages", "blocks", "requests"].includes(unit) && !label.includes(unit) ? unit : "";
  return {
    type: "quantitative", title: [label, label ? counted && `(${counted})` : counted].filter(Boolean).join(" ") || null,
    scale: { type: log ? "log" : "linear", domain: [low - (log ? 0 : spare), high + spare], nice: nice && !ticks, ...(log ? {} : { zero: false }) },
    axis: ticks
      ? { values: ticks.map(({ at }) => at), labelExpr: `${JSON.stringify(ticks.map(({ text }) => text))}[indexof(${JSON.stringify(ticks.map(({ at }) => at))}, datum.value)]` }
      : { labelExpr: labelled, tickCount: 5, grid },
  };
}

/** The places of the levels of a key: numbers in proportion, others side by side. @type {(key: Key, codes: Code[]) => Map<Code, number>} */
function placesOf(key, codes) {
  const shown = [...new Set(codes)].sort((a, b) => a - b);
  const { numbers } = key;
  if (!numbers || shown.length < 3) return new Map(shown.map((code, place) => [code, place]));
  const positive = shown.map((code) => numbers[code]).filter((number) => number > 0);
  if (positive[positive.length - 1] / positive[0] < 5 || numbers[shown[0]] < 0) return new Map(shown.map((code) => [code, numbers[code]]));
  // Zero has no place on a logarithmic axis: it stands one step below the least value, as a note below the axis says.
  const step = positive.length > 1 ? positive[1] / positive[0] : 2;
  return new Map(shown.map((code) => [code, Math.log2(numbers[code] || positive[0] / step)]));
}

/** The axis of a key. @type {(key: Key, codes: Code[]) => Axis} */
function keyAxis(key, codes) {
  const places = placesOf(key, codes);
  const all = [...places.values()];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const aside = (high - low || 1) * 0.06;
  return {
    label: key.label, low: low - aside, high: high + aside, show: (code) => `${key.label} ${key.texts[code]}`,
    ticks: [...places].map(([code, at]) => ({ at, text: key.texts[code] })), place: (code) => places.get(code) ?? 0,
  };
}

/** The axis of the lengths of bars, with room for the texts behind them. @type {(rows: BarRow[], label: string, unit: Unit) => Axis} */
function barAxis(rows, label, unit) {
  const most = Math.max(1e-9, ...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, row.from ?? 0)));
  return { label, unit, low: 0, high: most * (rows.some((row) => row.text) ? 1.3 : 1), grid: true, show: (value) => show(value, unit) };
}

/** @type {(chart: LineChart) => object[]} */
function lineRows({ x, lines }) {
  // Intervals stand side by side, not one upon the other.
  const aside = lines.some((line) => line.points.some((point) => point.low != null)) ? ((x.high - x.low) / 100) : 0;
  return lines.flatMap((line, at) => {
    line.shift = aside * (at - (lines.length - 1) / 2);
    let part = 0;
    return line.points.map((point, place) => {
      if (point.apart || point.y == null) part += 1;
      const floor = line.area ? 0 : undefined;
      return {
        x: (x.place?.(point.x) ?? point.x) + (line.shift ?? 0), y: point.y, low: point.low, high: point.high, from: point.from ?? floor,
        place, part, name: line.name, marked: Boolean(line.markers), opacity: line.look.fill ?? 0.12,
      };
    });
  });
}

/** @type {(chart: BarChart) => object[]} */
function barRows({ bars }) {
  return bars.rows.flatMap((row, place) => {
    let from = row.from ?? 0;
    return row.parts.filter(({ value }) => value).map(({ name, value }) => {
      const bar = { row: place, from, to: from + value, name, end: from + value, text: row.text };
      from = bar.to;
      return bar;
    });
  });
}

const LETTER = 6.6;

/** The lines of a name beside its bar. @type {(name: string, width: number) => string[]} */
function nameLines(name, width) {
  const letters = Math.max(14, width * 0.4 / LETTER);
  /** @type {string[]} */
  const lines = [];
  for (const word of name.split(" ")) {
    const longer = [...lines.slice(-1), word].join(" ");
    if (lines.length && longer.length <= letters) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** @type {(rows: BarRow[], width: number) => object} */
function rowNames(rows, width) {
  const texts = rows.map((row) => nameLines(row.label, width));
  return {
    field: "row", type: "nominal", sort: null, title: null,
    axis: { labelExpr: `${JSON.stringify(texts)}[toNumber(datum.value)]`, grid: false, domain: false, ticks: false, labelPadding: 4 },
  };
}

/** @type {(width: number, chart: Chart) => number} */
function barsHeight(width, chart) {
  return 60 + (chart.bars?.rows ?? []).reduce((sum, row) => sum + 18 + 13 * nameLines(row.label, width).length, 0);
}
