"use strict";

// What the page was given, and how numbers are shown.

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
