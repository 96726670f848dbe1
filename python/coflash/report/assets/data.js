"use strict";

// What the page was given, and how numbers are shown.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

const runs = data.hashes.map((_, run) => run);
const keys = data.keys;
const metrics = data.metrics;
const metricAt = new Map(metrics.map((metric) => [metric.path, metric]));
const NONE = "–";
const NARROW = "\u00a0";

// An element with attributes and children; a function among the attributes is a listener, false and null leave one out.
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

// ---- Numbers as text: the same as in the terminal ----

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const SIZES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

function grouped(value, digits = 0) {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function scaled(value, scales) {
  const [factor, unit] = scales.find(([least]) => Math.abs(value) >= least) ?? scales.at(-1);
  const number = value / factor;
  const digits = Number.isInteger(number) ? 0 : Math.max(0, 3 - String(Math.round(Math.abs(number))).length);
  return grouped(number, digits) + NARROW + unit;
}

function show(value, unit) {
  if (value == null || !Number.isFinite(value)) return NONE;
  switch (unit) {
    case "ns": return scaled(value, TIMES);
    case "bytes": return scaled(value, SIZES);
    case "share": return `${(value * 100).toFixed(1)}${NARROW}%`;
    case "ratio": return value.toFixed(3);
    case "": return Number.isInteger(value) ? grouped(value) : String(Number(value.toPrecision(4)));
    default: return grouped(value);
  }
}

function change(value, reference) {
  return value == null || !reference ? null : value / reference - 1;
}

function showChange(relative) {
  if (relative == null) return "";
  const text = `${(relative * 100).toFixed(1)}${NARROW}%`;
  return (relative >= 0 ? "+" : "") + text.replace("-", "−");
}

// Less of a cost is better; the word stands beside the colour, for those who do not see it.
function verdict(metric, relative) {
  if (!relative || !metric.cost) return "";
  return relative < 0 ? "better" : "worse";
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function plural(count, one, many = `${one}s`) {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

// ---- Runs ----

// The keys that tell runs apart; a seed does so only where nothing else does.
const seedKey = keys.find((key) => key.path === "seed") ?? null;
const meant = keys.filter((key) => key !== seedKey);

function textOf(key, run) {
  return key.texts[key.codes[run]];
}

const { labels } = data;

function scenarioLines(run) {
  return data.scenarios[run].map((line) => data.lines[line]);
}

// ---- Details: distributions and courses over time, decoded for the runs that are drawn ----

const blob = document.getElementById("details").textContent.trim();
const starts = (() => {
  let bytes = 0;
  return data.details.map((shape) => {
    const start = bytes;
    bytes += Math.ceil(floats(shape) * 4 / 12) * 12;
    return start;
  });
})();
const decoded = new Map();

function floats([all, read, write, windows, , erases, sizes]) {
  return 2 * (all + read + write) + windows * data.series.length + 2 * erases + 4 * sizes;
}

function details(run) {
  if (decoded.has(run)) return decoded.get(run);
  const shape = data.details[run];
  const start = starts[run] / 3 * 4;
  const text = atob(blob.slice(start, start + Math.ceil(floats(shape) * 4 / 12) * 16));
  const bytes = new DataView(Uint8Array.from(text, (letter) => letter.charCodeAt(0)).buffer);
  let at = 0;
  const take = (count) => Array.from({ length: count }, () => {
    const number = bytes.getFloat32(at, true);
    at += 4;
    return Number.isFinite(number) ? number : null;
  });
  const [all, read, write, windows, windowNs, erases, sizes] = shape;
  const histogram = (count) => ({ ns: take(count), through: take(count) });
  const found = { all: histogram(all), read: histogram(read), write: histogram(write), windowNs, series: {} };
  for (const name of data.series) found.series[name] = take(windows);
  found.windows = windows;
  found.erases = { from: take(erases), blocks: take(erases) };
  found.divided = { atNs: take(sizes), clean: take(sizes), dirty: take(sizes), allowed: take(sizes) };
  decoded.set(run, found);
  return found;
}

// ---- Files ----

function download(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function csv(columns, rows) {
  const cell = (value) => {
    const text = value == null ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function fileName(text) {
  return text.toLowerCase().normalize("NFKD").replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "") || "figure";
}

// What a screen reader is to say now.
function say(text) {
  $("#said").textContent = text;
}
