// A search of `coflash tune`: its course, what matters to it, each key against the objective, and the trade-off of several.

// Nothing of it is drawn where there is none.
const searched = /** @type {Search} */ (data.search);

const SEARCH_LOOKS = { trial: { place: 1, symbol: 0, points: true }, best: { place: 2 }, front: { place: 2, symbol: 1 }, refused: { place: 4, symbol: 2, points: true } };
const BOUND_TOLD = " Grey diamonds do not meet the conditions.";

/** @type {(objective: Objective) => string} */
function wanted({ label, minimised }) {
  return `${label}, ${minimised ? "less" : "more"} is better`;
}

/** Trials as points, those within the conditions and the others. @type {(trials: Trial[], x: (trial: Trial, at: number) => number, y: (trial: Trial) => number, said: (trial: Trial) => string) => Line[]} */
function trialLines(trials, x, y, said) {
  /** @type {(name: string, look: Look, chosen: (trial: Trial) => boolean) => Line} */
  const line = (name, look, chosen) => ({
    name, look, markers: true,
    points: trials.map((trial, at) => ({ trial, at })).filter(({ trial }) => chosen(trial))
      .map(({ trial, at }) => ({ x: x(trial, at), y: y(trial), apart: true, text: said(trial) })).sort((a, b) => a.x - b.x),
  });
  return [line("trials", SEARCH_LOOKS.trial, (trial) => trial.allowed), line("beyond a condition", SEARCH_LOOKS.refused, (trial) => !trial.allowed)]
    .filter(({ points }) => points.length);
}

/** @type {(trial: Trial) => string} */
function trialText(trial) {
  const values = searched.keys.map((key) => `${key.label} ${key.texts[key.codes[searched.trials.indexOf(trial)]]}`);
  const found = searched.objectives.map(({ unit }, at) => show(trial.found[at], unit));
  return `${found.join(" · ")} (${values.join(", ")})`;
}

/** @type {() => DataTable} */
function searchTable() {
  return {
    columns: ["trial", ...searched.keys.map((key) => key.path), ...searched.objectives.map(({ path }) => path), "meets conditions", "front"],
    rows: searched.trials.map((trial, at) => [trial.number, ...searched.keys.map((key) => key.texts[key.codes[at]]), ...trial.found, trial.allowed ? "yes" : "no", trial.front ? "yes" : "no"]),
  };
}

/** The axis of an objective. @type {(objective: number, label: string) => Axis} */
function around(objective, label) {
  const { unit } = searched.objectives[objective];
  const values = searched.trials.map((trial) => trial.found[objective]);
  return { label, unit, low: Math.min(...values), high: Math.max(...values), show: (value) => show(value, unit) };
}

/** @type {(at: number) => Make} */
function courseOf(at) {
  return () => {
    const objective = searched.objectives[at];
    const better = (/** @type {number} */ a, /** @type {number} */ b) => (objective.minimised ? Math.min(a, b) : Math.max(a, b));
    /** @type {number | null} */
    let best = null;
    const course = searched.trials.map((trial) => {
      if (trial.allowed) best = best == null ? trial.found[at] : better(best, trial.found[at]);
      return { x: trial.number, y: best };
    });
    const lines = trialLines(searched.trials, (trial) => trial.number, (trial) => trial.found[at], trialText);
    return {
      x: { label: "trial", low: 0, high: Math.max(1, searched.trials.length - 1), nice: false, show: (number) => `trial ${number}` },
      y: around(at, wanted(objective)),
      lines: [{ name: "best so far", look: SEARCH_LOOKS.best, points: course, step: true }, ...lines],
      legend: [{ name: "best so far", look: SEARCH_LOOKS.best }, ...lines.map(({ name, look }) => ({ name, look }))],
      summary: `${plural(searched.trials.length, "trial")}; the best has ${show(best, objective.unit)}.`,
      table: searchTable,
    };
  };
}

/** @type {(key: Key, at: number) => Make} */
function sliceOf(key, at) {
  return () => {
    const lines = trialLines(searched.trials, (_, trial) => key.codes[trial], (trial) => trial.found[at], trialText);
    return {
      x: keyAxis(key, key.codes),
      y: around(at, ""),
      lines, table: searchTable,
    };
  };
}

/** @type {Make} */
function importanceChart() {
  const rows = searched.objectives.flatMap(({ label }, at) => Object.entries(searched.importance[at]).map(([key, share]) => ({
    label: searched.objectives.length > 1 ? `${label} · ${key}` : key, text: show(share, "share"),
    parts: [{ name: label, look: { place: at }, value: share }],
  })));
  return {
    bars: { rows, x: barAxis(rows, "share of the difference between trials", "share"), show: (value) => show(value, "share") },
    summary: rows.map((row) => `${row.label} ${row.text}`).join(", "),
    table: () => ({ columns: ["key", "share"], rows: rows.map((row) => [row.label, row.parts[0].value]) }),
  };
}

/** @type {Make} */
function frontChart() {
  const [across, up] = searched.objectives;
  const lines = trialLines(searched.trials, (trial) => trial.found[0], (trial) => trial.found[1], trialText);
  const front = searched.trials.filter((trial) => trial.front).map((trial) => ({ x: trial.found[0], y: trial.found[1] })).sort((a, b) => a.x - b.x);
  return {
    x: around(0, wanted(across)),
    y: around(1, wanted(up)),
    // With markers, over the trials: a front may be a single one.
    lines: [...lines, { name: "Pareto front", look: SEARCH_LOOKS.front, markers: true, points: front }],
    legend: [{ name: "Pareto front", look: SEARCH_LOOKS.front }, ...lines.map(({ name, look }) => ({ name, look }))],
    summary: `${plural(front.length, "trial")} on the Pareto front.`,
    table: searchTable,
  };
}

/** @type {(place: HTMLElement) => void} */
function buildSearch(place) {
  if (!data.search) return place.remove();
  const goals = searched.objectives.map(({ label, minimised }) => `${minimised ? "the least" : "the most"} ${label}`).join(" and ");
  const bounds = searched.subject_to.length ? `, subject to ${searched.subject_to.join(" and ")}` : "";
  const refused = searched.trials.some((trial) => !trial.allowed) ? BOUND_TOLD : "";
  place.append(el("p", {}, `A search for ${goals}${bounds}: ${plural(searched.trials.length, "trial")}${searched.failed ? `, ${grouped(searched.failed)} more failed` : ""}.`));
  if (searched.objectives.length > 1) {
    place.append(new Figure({ title: "Trade-off", make: frontChart, note: `A trial is on the front if no other is better in one objective and as good in the others.${refused}` }).element);
  }
  searched.objectives.forEach((objective, at) => {
    place.append(new Figure({ title: `Course of the search: ${objective.label}`, make: courseOf(at), note: refused.trim() }).element);
  });
  if (searched.importance.length) {
    place.append(new Figure({ title: "Which keys matter", make: importanceChart, height: barsHeight, legend: false, note: "PED-ANOVA: what the better trials have in common." }).element);
  }
  const [first] = searched.objectives;
  place.append(el("h3", { class: "sub" }, `Each key against ${first.label}`),
    el("div", { class: "grid" }, ...searched.keys.map((key) => new Figure({ title: key.label, make: sliceOf(key, 0), small: true, legend: false, height: () => 210 }).element)));
  return undefined;
}
