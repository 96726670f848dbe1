// What a change of one key does: pairs of runs that are alike in every other key and of one revision, and how their
// measures differ.

const CARDS = ["gc_copies_pages", "waf_host", "response_ns.all.mean", "response_ns.all.p99"];

// The key with the baseline; else words before numbers: “what does cdm do?” before “what does 64 MiB do?”.
const named = meant.find((key) => key.texts.includes(data.baseline));
/** @type {{ key: Key, from: Code, to: Code } | null} */
const question = (() => {
  const key = named ?? meant.find((one) => !one.numbers) ?? meant[0];
  if (!key) return null;
  const from = named ? named.texts.indexOf(data.baseline) : 0;
  const to = key.texts.indexOf(data.target);
  return { key, from, to: to >= 0 && to !== from ? to : from === 0 ? key.texts.length - 1 : 0 };
})();

// Pairs of runs that differ in `key` alone, from one value of it to another.
/** @type {(key: Key, from: Code, to: Code) => [Run, Run][]} */
function pairs(key, from, to) {
  const rest = keys.filter((other) => other !== key);
  const alike = (/** @type {Run} */ run) => [data.runs[run].revision, ...rest.map((other) => other.codes[run])].join();
  const partners = new Map();
  for (const run of filtered()) if (key.codes[run] === to) partners.set(alike(run), run);
  return filtered().filter((run) => key.codes[run] === from && partners.has(alike(run)))
    .map((run) => [run, partners.get(alike(run))]);
}

// Of pairs those whose runs can differ. Others have no part of a system on which the key acts, and all numbers that both
// have are the same: they say nothing of the change.
/** @type {(key: Key, found: [Run, Run][]) => [Run, Run][]} */
function telling(key, found) {
  const same = (/** @type {number | null} */ one, /** @type {number | null} */ other) => one == null || other == null || one === other;
  return found.filter(([a, b]) => key.acts?.[a] || key.acts?.[b] || metrics.some(({ values }) => !same(values[a], values[b])));
}

const KEY_VALUES_MAX = 60;

// The first value of a key from which there are pairs to another, and the last of those; null where there is none.
/** @type {(key: Key) => { from: Code, to: Code } | null} */
function firstPair(key) {
  if (key.texts.length > KEY_VALUES_MAX) return null;
  for (const [from] of key.texts.entries()) {
    for (let to = key.texts.length - 1; to >= 0; to -= 1) if (to !== from && pairs(key, from, to).length) return { from, to };
  }
  return null;
}

/** @type {(place: HTMLElement) => void} */
function buildFindings(place) {
  const known = meant.filter((key) => key.texts.length > 1 && firstPair(key));
  if (!question || !known.length) return runs.length === 1 ? alone(place) : place.remove();
  if (!known.includes(question.key)) question.key = known[0];
  if (question.key !== named || !pairs(named, question.from, question.to).length) Object.assign(question, firstPair(question.key));
  /** @type {(id: string, label: string, options: Node[], act: (value: number) => void) => HTMLElement} */
  const choice = (id, label, options, act) => {
    const select = el("select", { id, change: () => { act(Number(select.value)); fillFindings(); } }, ...options);
    return el("span", { class: "inline" }, el("label", { for: id, class: "unseen" }, label), select);
  };
  const values = (/** @type {Code} */ chosen) => question.key.texts.map((text, code) => option(text, code, code === chosen));
  const sentence = el("p", { class: "sentence" });
  const build = () => sentence.replaceChildren(
    "Changing ",
    choice("change-key", "Key", known.map((key, at) => option(key.label, at, key === question.key)), (at) => {
      Object.assign(question, { key: known[at], ...firstPair(known[at]) });
      build();
      $("#change-key").focus();
    }),
    " from ", choice("change-from", "From", values(question.from), (code) => { question.from = code; }),
    " to ", choice("change-to", "To", values(question.to), (code) => { question.to = code; }));
  build();
  place.append(sentence, el("dl", { class: "cards" }), el("p", { class: "note" }));
  buildWaterfall(place);
  place.append(el("details", { id: "intervals" }));
  fillFindings();
}

// One run: its numbers, then its pictures; the measures follow.
/** @type {(place: HTMLElement) => void} */
function alone(place) {
  $("#findings-title").textContent = "What came out";
  const shown = CARDS.flatMap((path) => metricAt.get(path) ?? []).filter(({ values }) => values[0] != null);
  place.append(el("dl", { class: "cards" }, ...shown.map(({ label, unit, values }) => el("div", { class: "card" }, el("dt", {}, label), el("dd", {}, show(values[0], unit))))));
  place.after($("#programs"), $("#run-details"));
  const [all, copies] = [Object.keys(data.causes).reduce((sum, cause) => sum + (metricAt.get(`programs_pages.${cause}`)?.values[0] ?? 0), 0), metricAt.get("gc_copies_pages")?.values[0]];
  if (all && copies) $("#answer").textContent = `Of 100 pages programmed, ${Math.round((100 * copies) / all)} are copies by GC.`;
}

// The answer in a sentence: what changed most, and which parts of the change did most of it.
/** @type {(cards: string[], steps: Step[]) => string} */
function answered(cards, steps) {
  if (!question) return "";
  const { key, from, to } = question;
  const largest = [...steps].sort((one, other) => Math.abs(other.by) - Math.abs(one.by)).slice(0, 2).filter(({ by }) => Math.abs(by) >= 0.5);
  const parts = largest.map(({ label, by }) => `${label} ${by < 0 ? "−" : "+"}${grouped(Math.abs(Math.round(by)))}`).join(", ");
  return `With ${key.label} ${key.texts[to]} in place of ${key.texts[from]}: ${cards.slice(0, 3).join(", ") || "none of these measures changes"}.${parts && ` Flash programs, by the ${largest.length < steps.length ? "largest parts" : "parts"} of the change: ${parts}.`}`;
}

function fillFindings() {
  const place = $("#findings");
  if (!place || !question) return;
  const all = pairs(question.key, question.from, question.to);
  const found = telling(question.key, all);
  const ofSeeds = found.length > 1 && meant.every((key) => key === question.key || new Set(found.map(([run]) => key.codes[run])).size === 1);
  const covered = ofSeeds && data.replayed ? " The interval covers preconditioning and random choices; the trace is the same." : "";
  /** @type {string[]} */
  const changed = [];
  const cards = CARDS.flatMap((path) => metricAt.get(path) ?? []).map((metric) => {
    const changes = found.map(([a, b]) => change(metric.values[b], metric.values[a])).filter((one) => one != null);
    if (!changes.length) return null;
    const mean = changes.reduce((sum, one) => sum + one, 0) / changes.length;
    const [least, most] = [Math.min(...changes), Math.max(...changes)];
    const [low, high] = ofSeeds ? confidence(changes, mean, metric.bin_width * (1 + mean), -1) : [least, most];
    if (Math.abs(mean) >= 0.0005) changed.push(`${metric.label} ${showChange(mean)}`);
    return el("div", { class: "card" }, el("dt", {}, metric.label), changeCell(showChange(mean), verdict(metric.better, low * high > 0 ? mean : null), "dd"),
      el("dd", {}, ofSeeds ? `[${showChange(low)}, ${showChange(high)}]` : changes.length > 1 ? `${showChange(low)} … ${showChange(high)}` : " "));
  }).filter(Boolean);
  $(".cards", place).replaceChildren(...cards);
  const rest = meant.filter((key) => key !== question.key).map((key) => key.label);
  const alike = `of runs that differ in ${question.key.label} alone`;
  const over = ofSeeds ? "paired by seed" : rest.length ? `for all values of ${rest.join(" and ")}` : "";
  const pooled = `${ofSeeds ? "Mean and 95 % confidence interval" : "Mean and range"} over ${plural(found.length, "pair")} ${alike}${over && `, ${over}`}.${covered}`;
  const equal = all.length - found.length;
  const why = `neither run has a part of a system on which ${question.key.label} acts`;
  const left = !equal ? "" : `${found.length ? `${plural(equal, "pair")} more left out` : equal === 1 ? "The only pair" : `All ${plural(equal, "pair")}`}, equal by construction: ${why}.`;
  const shown = !all.length ? "No two runs differ in this alone." : found.length === 1 ? `One pair ${alike}.` : found.length ? pooled : "";
  $(".note", place).textContent = [shown, left].filter(Boolean).join(" ");
  $("#answer").textContent = data.answer || answered(changed, stepsOf(found));
  fillWaterfall();
  fillIntervals();
}

// Differences with their intervals and tests, of the pairs whose runs the filter leaves.
function fillIntervals() {
  if (!question) return;
  const { key, from, to } = question;
  const left = new Set(filtered());
  const measured = data.differences.filter((one) =>
    one.key === key.path && one.from === from && one.to === to && one.runs.every((run) => left.has(run)));
  /** @type {TableCell[][]} */
  const rows = measured.flatMap(({ title, rows: texts }) => [[el("th", { scope: "rowgroup", class: "text", colspan: 5 }, title)], ...texts]);
  $("#intervals").hidden = !rows.length;
  $("#intervals").replaceChildren(el("summary", {}, "Intervals and tests"),
    scrolled("Intervals and tests", `What changes from ${key.texts[from]} to ${key.texts[to]}`, ["measure", key.texts[from], "difference", "95 % over seeds", "95 % over slices"], [rows]),
    el("ul", { class: "remarks" }, ...data.method.map((sentence) => el("li", {}, sentence))));
}
