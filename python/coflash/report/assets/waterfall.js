// The mechanism: by which steps the programs of one value of a key become those of another.

const TOTAL = { place: 4 };
const LESS = { place: 2 };
const MORE = { place: 7 };

/**
 * A step: what it is called, and the pages that it adds to the programs of a run.
 * @type {[string, (at: (path: string) => number) => number][]}
 */
const STEPS_OF_PROGRAMS = [
  ["overwrites known at once", (at) => -at("gc_spared_pages")],
  ["pages dropped by GC", (at) => -at("gc_drops_pages")],
  ["dropped pages that came back", (at) => at("drop_rewrites_pages")],
  ["host writes and evictions", (at) => at("programs_pages.host") + at("programs_pages.evict") - at("drop_rewrites_pages")],
  ["refresh, wear levelling, destaging, metadata", (at) =>
    ["refresh", "wear_levelling", "destage", "metadata"].reduce((sum, cause) => sum + at(`programs_pages.${cause}`), 0)],
  ["valid pages in GC’s victims", (at) => at("programs_pages.gc") + at("gc_spared_pages") + at("gc_drops_pages")],
];

/** @type {Figure | null} */
let waterfall = null;

/** The mean over runs. @type {(members: Run[], value: (at: (path: string) => number) => number) => number} */
function meanOf(members, value) {
  return average(members, (run) => value((path) => metricAt.get(path)?.values[run] ?? 0));
}

// The exact shares of the change, in groups of runs that the filter leaves.
/** @type {() => Why[]} */
function exactly() {
  const left = new Set(filtered());
  return question ? data.whys.filter((one) => question.key.path === one.key && question.from === one.from && question.to === one.to
    && one.runs.every((run) => left.has(run))) : [];
}

/** The mean of what each has. @type {<T>(all: T[], value: (one: T) => number) => number} */
const average = (all, value) => all.reduce((sum, one) => sum + value(one), 0) / all.length;

/** @type {Make} */
function waterfallChart() {
  const found = question ? telling(question.key, pairs(question.key, question.from, question.to)) : [];
  if (!question || !found.length) return "No two runs that can differ do so in this alone.";
  const [before, after] = [found.map(([run]) => run), found.map(([, run]) => run)];
  const programs = (/** @type {(path: string) => number} */ at) =>
    Object.keys(data.causes).reduce((sum, cause) => sum + at(`programs_pages.${cause}`), 0);
  const name = (/** @type {Code} */ code) => question.key.texts[code];
  const exact = exactly();
  const total = (/** @type {Code} */ code, /** @type {number} */ value) => {
    return { label: name(code), text: grouped(Math.round(value)), parts: [{ name: "flash programs", look: TOTAL, value }] };
  };
  const steps = (exact.length
    ? Object.keys(exact[0].shares).map((label) => ({ label, by: average(exact, ({ shares }) => shares[label]) }))
    : STEPS_OF_PROGRAMS.map(([label, pages]) => ({ label, by: meanOf(after, pages) - meanOf(before, pages) }))
  ).filter(({ by }) => Math.abs(by) >= 0.5);
  const first = exact.length ? average(exact, ({ base }) => base) : meanOf(before, programs);
  const last = exact.length ? average(exact, ({ whole }) => whole) : meanOf(after, programs);
  let at = first;
  const between = steps.map(({ label, by }) => {
    const from = Math.min(at, at + by);
    at += by;
    const text = `${by < 0 ? "−" : "+"}${grouped(Math.abs(Math.round(by)))}`;
    return { label, from, text, parts: [{ name: by < 0 ? "fewer programs" : "more programs", look: by < 0 ? LESS : MORE, value: Math.abs(by) }] };
  });
  const rows = [total(question.from, first), ...between, total(question.to, last)];
  return {
    bars: { rows, x: barAxis(rows, "flash programs", "pages"), show: (value) => plural(Math.round(value), "page") },
    summary: rows.map((row) => `${row.label}: ${row.text}`).join("; "),
    table: () => ({ columns: ["step", "pages"], rows: rows.map((row) => [row.label, row.text]) }),
  };
}

// A page that GC takes from a buffer is not read, and is clean there.
/** @type {() => string} */
function readsSpared() {
  const found = question ? telling(question.key, pairs(question.key, question.from, question.to)).map(([, run]) => run) : [];
  const pages = found.length ? meanOf(found, (at) => at("shadows.from_buffer_pages")) : 0;
  return pages ? `GC took ${plural(Math.round(pages), "page")} from a buffer: no reads of flash, and no programs when they leave it.` : "";
}

/** @type {(place: HTMLElement) => void} */
function buildWaterfall(place) {
  waterfall = new Figure({ title: "Where the difference comes from", make: waterfallChart, height: barsHeight, legend: false });
  place.append(waterfall.element);
  fillWaterfall();
}

function fillWaterfall() {
  if (!waterfall) return;
  const [from, to] = question ? [question.key.texts[question.from], question.key.texts[question.to]] : [];
  const between = data.between.find(({ schemes }) => schemes[0] === from && schemes[schemes.length - 1] === to);
  const command = between ? ` Shares without a rest need the schemes between: coflash sweep … ${between.vary}.` : "";
  const said = exactly().length
    ? "Flash programs. Each step is the mean effect of a part of the scheme over all orders of adding the parts (Shapley), by runs of "
      + "the schemes between: nothing is left over."
    : "Flash programs, means over the pairs above. The last step is the rest of the difference: once some pages need no copy, GC "
      + `chooses other victims, with more or fewer valid pages.${command}`;
  waterfall.note.textContent = [said, readsSpared()].filter(Boolean).join(" ");
  waterfall.redraw();
}
