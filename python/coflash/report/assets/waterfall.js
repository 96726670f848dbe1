// The mechanism: by which steps the programs of one value of a key become those of another.

const LOOKS_OF_STEPS = { "flash programs": series(4), "fewer programs": series(2), "more programs": series(7) };

/**
 * @typedef {object} Step
 * @property {string} label
 * @property {number} by
 */

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

/** The mean of what each has. @type {<T>(all: T[], value: (one: T) => number) => number} */
const average = (all, value) => all.reduce((sum, one) => sum + value(one), 0) / all.length;

/** The mean over runs. @type {(members: Run[], value: (at: (path: string) => number) => number) => number} */
function meanOf(members, value) {
  return average(members, (run) => value((path) => metricAt.get(path)?.values[run] ?? 0));
}

// The exact shares of the change, in groups of runs that the filter leaves.
/** @type {() => Why[]} */
function exactly() {
  const left = new Set(filtered());
  return question ? data.whys.filter((why) => question.key.path === why.key && question.from === why.from && question.to === why.to
    && why.runs.every((run) => left.has(run))) : [];
}

// The parts of the difference between pairs of runs: exact where the schemes between ran.
/** @type {(chosen: [Run, Run][]) => Step[]} */
function stepsOf(chosen) {
  const [exact, before, after] = [exactly(), chosen.map(([run]) => run), chosen.map(([, run]) => run)];
  if (exact.length) return Object.keys(exact[0].shares).map((label) => ({ label, by: average(exact, ({ shares }) => shares[label]) }));
  return chosen.length ? STEPS_OF_PROGRAMS.map(([label, pages]) => ({ label, by: meanOf(after, pages) - meanOf(before, pages) })) : [];
}

/** @type {Make} */
function waterfallChart() {
  const chosen = question ? telling(question.key, pairs(question.key, question.from, question.to)) : [];
  if (!question || !chosen.length) return "No two runs that can differ do so in this alone.";
  const [before, after] = [chosen.map(([run]) => run), chosen.map(([, run]) => run)];
  const [exact, steps] = [exactly(), stepsOf(chosen)];
  const programs = (/** @type {(path: string) => number} */ at) =>
    Object.keys(data.causes).reduce((sum, cause) => sum + at(`programs_pages.${cause}`), 0);
  /** @type {(row: number, code: Code, value: number) => Row} */
  const total = (row, code, value) =>
    ({ row, label: question.key.texts[code], name: "flash programs", from: 0, to: value, value, text: grouped(Math.round(value)) });
  let to = exact.length ? average(exact, ({ base }) => base) : meanOf(before, programs);
  const rows = [total(0, question.from, to), ...steps.filter(({ by }) => Math.abs(by) >= 0.5).map(({ label, by }, at) => {
    const [from, until] = [Math.min(to, to + by), Math.max(to, to + by)];
    to += by;
    const text = `${by < 0 ? "−" : "+"}${grouped(Math.abs(Math.round(by)))}`;
    return { row: at + 1, label, name: by < 0 ? "fewer programs" : "more programs", from, to: until, value: by, text };
  })];
  rows.push(total(rows.length, question.to, exact.length ? average(exact, ({ whole }) => whole) : meanOf(after, programs)));
  return { kind: "bars", rows, x: { label: "flash programs", unit: "pages", grid: true }, looks: LOOKS_OF_STEPS, fields: { step: "label", pages: "text" } };
}

// A page that GC takes from a buffer is not read, and is clean there.
/** @type {() => string} */
function readsSpared() {
  const after = question ? telling(question.key, pairs(question.key, question.from, question.to)).map(([, run]) => run) : [];
  const pages = after.length ? meanOf(after, (at) => at("shadows.from_buffer_pages")) : 0;
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
  const said = exactly().length
    ? "Flash programs. Each step is the mean effect of a part of the scheme over all orders of adding the parts (Shapley), by runs of "
      + "the schemes between: nothing is left over."
    : "Flash programs, means over the pairs above. The last step is the rest of the difference: once some pages need no copy, GC "
      + `chooses other victims, with more or fewer valid pages.${between ? ` ${between.said}` : ""}`;
  waterfall.note.textContent = [said, readsSpared()].filter(Boolean).join(" ");
  waterfall.redraw();
}
