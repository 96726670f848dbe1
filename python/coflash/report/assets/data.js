"use strict";

// What the page was given, and how numbers are shown.

// What `payload.py` writes.

/** The place of a run in every column. @typedef {number} Run */
/** The place of a value among the values of a key. @typedef {number} Code */
/** @typedef {"ns" | "bytes" | "share" | "ratio" | "" | "count" | "pages" | "blocks" | "requests" | "1/s" | "bytes/s" | "J" | "nJ" | "years"} Unit */
/** @typedef {"less" | "more" | "neither"} Better */
/** @typedef {"all" | "read" | "write"} Kind */
/** @typedef {(number | null)[]} Numbers */
/**
 * @typedef {object} Data
 * @property {string} answer
 * @property {string} baseline
 * @property {string} target The value to which the first comparison goes; empty for the last one.
 * @property {string[]} labels
 * @property {Key[]} keys
 * @property {Metric[]} metrics
 * @property {Section[]} sections
 * @property {Record<string, string>} causes
 * @property {boolean} replayed Whether traces are replayed, which are the same for every seed.
 * @property {Difference[]} differences Paired differences between runs that are alike in all but one key; none where there are
 *   many runs.
 * @property {Why[]} whys Exact shares of differences of flash programs.
 * @property {{ schemes: string[]; said: string }[]} between Schemes with those between, of whose runs the shares follow, and how
 *   a sweep over them is had.
 * @property {string[]} method What their intervals and tests are.
 * @property {number[]} t The bounds of Student's t for 95 %, by degrees of freedom from 1 on.
 * @property {Kind[]} kinds
 * @property {string[]} lines
 * @property {number[][]} scenarios
 * @property {string[]} hashes
 * @property {string[]} points The labels of the runs without their seeds.
 * @property {{ title: string; unit: Unit; path: string }[]} courses What is shown over time; `path` names it in files.
 * @property {Details[]} details
 * @property {{ over: number | null; by: number | null; runs: Run[] }} first What is shown at first: the keys of axis and lines by
 *   their places, and the runs that are drawn.
 * @property {Facts[]} runs
 * @property {Partial<Record<Unit, Scale[]>>} scales
 * @property {Search | null} search Null where the runs are not those of a search.
 * @property {{ lines: object[]; steps: object[]; courses: object[]; bars: object[]; config: object; dashes: number[][]; markers:
 *   string[]; labels: Record<string, string>; }} charts Layers of charts, with holes; and what their looks and ticks are made of.
 */
/**
 * @typedef {object} Why
 * @property {string} key
 * @property {Code} from
 * @property {Code} to
 * @property {Run[]} runs
 * @property {number} base
 * @property {number} whole
 * @property {Record<string, number>} shares
 */
/**
 * `rows` are texts: a measure, its baseline, the difference, and its intervals; `title` says of which runs.
 * @typedef {object} Difference
 * @property {string} key
 * @property {Code} from
 * @property {Code} to
 * @property {Run[]} runs
 * @property {string} title
 * @property {string[][]} rows
 */
/** A factor, and the name of the unit. @typedef {[number, string]} Scale */
/**
 * The charts of a search, those of its keys apart, with the title of these.
 * @typedef {object} Search
 * @property {string} about
 * @property {Titled[]} charts
 * @property {Titled[]} slices
 * @property {string} title
 */
/** @typedef {Chart & { title: string; note: string }} Titled */
/**
 * @typedef {object} Key
 * @property {string} path
 * @property {string} label
 * @property {string[]} texts
 * @property {number[] | null} numbers
 * @property {number[]} places Where its values are on an axis.
 * @property {Code[]} codes
 * @property {boolean[]} acts Whether each run has a part of a system on which the key acts.
 * @property {undefined} [values]
 */
/**
 * @typedef {object} Metric
 * @property {string} path
 * @property {string} label
 * @property {Unit} unit
 * @property {string} about
 * @property {Better} better
 * @property {boolean} headline
 * @property {number} bin_width The most that a value may be off, as a share of it; 0 where it is exact.
 * @property {Numbers} values
 * @property {undefined} [codes]
 * @property {undefined} [numbers]
 */
/** @typedef {Key | Metric} Column */
/**
 * @typedef {object} Section
 * @property {string} title
 * @property {string} about
 * @property {string} path
 * @property {{ label: string; texts: string[] }[]} assumed What the measures take for granted: a text for each run.
 * @property {{ path: string; label: string; about: string; unit: Unit; better: Better; values: Numbers; shares: Numbers | null
 *   }[]} measures
 */
/**
 * @typedef {object} Facts
 * @property {string} workload
 * @property {string} replay
 * @property {[string, string][]} inputs
 * @property {string[]} remarks
 * @property {string} coflash
 * @property {number} revision
 * @property {number} seed
 * @property {number} pace
 * @property {number | null} memory
 */
/**
 * Packed columns: of times, the times and the requests up to each; the courses in the order of `Data.courses`.
 * @typedef {Record<Kind, string[]> & { window_ns: number, courses: string[], erases: string[], divided: string[] }} Details
 */
/** @typedef {string | number | null | undefined} Cell */
/** A cell of a table: a text, a text with its class, or an element. @typedef {string | [string, string] | HTMLElement} TableCell */

/** @type {Data} */
const data = JSON.parse(document.getElementById("data")?.textContent ?? "");
/** What the page has under a selector; its kind is for the caller to know. @type {(selector: string, within?: ParentNode) => any} */
const $ = (selector, within = document) => within.querySelector(selector);
/** @type {(selector: string, within?: ParentNode) => any[]} */
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

const runs = data.hashes.map((_, run) => run);
const keys = data.keys;
const metrics = data.metrics;
const metricAt = new Map(metrics.map((metric) => [metric.path, metric]));
const NONE = "–";
const NARROW = "\u00a0";

/**
 * An element with attributes and children; a function among the attributes is a listener, false and null leave one out.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, any>} attributes
 * @param {(Node | string | null | undefined)[]} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  for (const child of children) if (child != null) element.append(child);
  return element;
}

/** @type {(text: string, value: string | number, chosen?: boolean) => HTMLElement} */
function option(text, value, chosen = false) {
  return el("option", { value, selected: chosen }, text);
}

/** A labelled menu. @type {(id: string, label: string, options: Node[], act: (value: string) => void, kind?: string) => HTMLElement} */
function menu(id, label, options, act, kind = "field") {
  const select = el("select", { id, change: () => act(select.value) }, ...options);
  return el("div", { class: kind }, el("label", { for: id }, label), select);
}

/**
 * A table that is scrolled: its caption, its heads, and its parts of rows. A cell is a text, a text with a class, or an element.
 * The first cell of a row is its head.
 * @type {(label: string, caption: string, heads: string[], parts: TableCell[][][], kind?: string) => HTMLElement}
 */
function scrolled(label, caption, heads, parts, kind = "") {
  const cell = (/** @type {TableCell} */ given, /** @type {number} */ place) => {
    const [content, look] = Array.isArray(given) ? given : [given, ""];
    return content instanceof HTMLTableCellElement ? content : el(place ? "td" : "th", { scope: place ? null : "row", class: look || null }, content);
  };
  return el("div", { class: `scroll ${kind}`, tabindex: 0, role: "region", "aria-label": label },
    el("table", {}, el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...heads.map((head, place) => el("th", { scope: "col", class: place ? null : "text" }, head)))),
      ...parts.map((rows, part) => el("tbody", { class: part ? "rest" : null }, ...rows.map((row) => el("tr", {}, ...row.map(cell)))))));
}

// ---- Numbers as text: the same as in the terminal ----

/** @type {(value: number, digits?: number) => string} */
function grouped(value, digits = 0) {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** @type {(unit: Unit, value: number) => Scale} */
function scaleOf(unit, value) {
  const scales = data.scales[unit] ?? [[1, unit]];
  return scales.find(([least]) => Math.abs(value) >= least) ?? scales[scales.length - 1];
}

/** @type {(value: number, digits: number) => number} */
function decimals(value, digits) {
  const power = Number(value.toExponential(digits - 1).split("e")[1]);
  return Math.max(0, digits - 1 - Math.max(0, power));
}

/** @type {(value: number, kind: Unit) => string} */
function scaled(value, kind) {
  const [factor, unit] = scaleOf(kind, value);
  const number = value / factor;
  return grouped(number, Number.isInteger(number) ? 0 : decimals(number, 3)) + NARROW + unit;
}

/** @type {(value: number | null | undefined, unit: Unit) => string} */
function show(value, unit) {
  if (value == null || !Number.isFinite(value)) return NONE;
  if (data.scales[unit]) return scaled(value, unit);
  switch (unit) {
    case "share": return `${(value * 100).toFixed(1)}${NARROW}%`;
    case "ratio": return grouped(value, decimals(value, 4));
    case "years": return `${value < 100 ? Number(value.toPrecision(3)) : grouped(value)} years`;
    case "1/s": return value < 100 ? String(Number(value.toPrecision(3))) : grouped(value);
    case "": return Number.isInteger(value) ? grouped(value) : String(Number(value.toPrecision(4)));
    default: return grouped(value);
  }
}

/** @type {(value: number | null | undefined, reference: number | null | undefined) => number | null} */
function change(value, reference) {
  return value == null || !reference ? null : value / reference - 1;
}

/** @type {(relative: number | null) => string} */
function showChange(relative) {
  if (relative == null) return "";
  const text = `${grouped(relative * 100, Math.abs(relative) < 10 ? 1 : 0)}${NARROW}%`;
  return (relative >= 0 ? "+" : "") + text.replace("-", "−");
}

// The word stands beside the colour, for those who do not see it.
/** @type {(better: Better, relative: number | null) => string} */
function verdict(better, relative) {
  if (!relative || better === "neither") return "";
  return relative < 0 === (better === "less") ? "better" : "worse";
}

/** @type {(text: string, word: string, kind?: "td" | "dd") => HTMLElement} */
function changeCell(text, word, kind = "td") {
  return el(kind, { class: word || null }, text, word ? el("span", { class: "unseen" }, ` ${word}`) : null);
}

// The 95 % confidence interval of the mean of two values or more (Student's t), wider by what bins hide; a mean cannot be below `least`.
/** @type {(values: number[], mean: number, hidden: number, least: number) => [number, number]} */
function confidence(values, mean, hidden, least) {
  const n = values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
  const half = (data.t[n - 2] ?? 1.96) * deviation / Math.sqrt(n) + hidden;
  return [Math.max(least, mean - half), mean + half];
}

/** @type {(text: string) => string} */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** @type {(count: number, one: string, many?: string) => string} */
function plural(count, one, many = `${one}s`) {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

// ---- Runs ----

// The keys that tell runs apart; a seed does so only where nothing else does.
const seedKey = keys.find((key) => key.path === "seed") ?? null;
const meant = keys.filter((key) => key !== seedKey);

/** @type {(key: Key, run: Run) => string} */
function textOf(key, run) {
  return key.texts[key.codes[run]];
}

const { labels } = data;

/** @type {(run: Run) => string[]} */
function scenarioLines(run) {
  return data.scenarios[run].map((line) => data.lines[line]);
}

// ---- Details: distributions and courses over time, decoded for the runs that are drawn ----

/** @type {Map<string, Numbers>} */
const decoded = new Map();

/** Numbers that `packed` in payload.py put into a text. @type {(text: string) => Numbers} */
function unpacked(text) {
  const known = decoded.get(text);
  if (known) return known;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const numbers = [...new Float32Array(bytes.buffer)].map((number) => (Number.isFinite(number) ? number : null));
  decoded.set(text, numbers);
  return numbers;
}

// ---- Files ----

/** @type {(name: string, content: Blob | string, type?: string) => void} */
function download(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @type {(columns: string[], rows: Cell[][]) => string} */
function csv(columns, rows) {
  const cell = (/** @type {unknown} */ value) => {
    const text = value == null ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** @type {(text: string) => string} */
function fileName(text) {
  return text.toLowerCase().normalize("NFKD").replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "") || "figure";
}

// What a screen reader is to say now.
/** @type {(text: string) => void} */
function say(text) {
  $("#said").textContent = text;
}
