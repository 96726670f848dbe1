// The choice of runs: a filter for the whole page, the table of the runs, and the few that are drawn one by one.

const SELECTED_MAX = 8;

const state = {
  search: "",
  /** @type {string[]} What was not understood of the search. */
  problems: [],
  /** @type {Map<Key, Code>} The value that a key must have. */
  fixed: new Map(),
  selected: data.first.runs,
  /** @type {{ column: Column | null, descending: boolean }} */
  sort: { column: null, descending: false },
  columns: new Set(metrics.filter((metric) => metric.headline).map((metric) => metric.path)),
  rowsShown: 100,
};

/** @type {Record<string, (a: number, b: number) => boolean>} */
const COMPARISONS = {
  "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
  "=": (a, b) => a === b, "!=": (a, b) => a !== b,
};
const COMPARISON = /^(.+?)(<=|>=|!=|=|<|>)(.+)$/;

// “cdm 64MiB”: runs that have both words. “waf_host<2”, “cache size >= 64 MiB”: runs for which that holds. A condition
// that is not understood holds for no run, and is named.
/** @type {(word: string) => { holds: (run: Run) => boolean, problem?: string }} */
function condition(word) {
  const found = COMPARISON.exec(word);
  if (!found) {
    const plain = word.toLowerCase();
    const holds = (/** @type {Run} */ run) => haystack(run).includes(plain);
    const texts = keys.flatMap((key) => key.texts);
    return runs.some(holds) ? { holds } : { holds, problem: `no run has “${word}”${near(word, texts)}` };
  }
  const [, name, sign, value] = found;
  const key = keys.find((one) => [one.path, one.path.replace(/\.name$/, ""), one.label.replaceAll(" ", ".")].includes(name));
  const metric = metricAt.get(name) ?? metrics.find((one) => brief(one.path) === brief(name));
  const compare = COMPARISONS[sign];
  const number = quantity(value);
  const never = (/** @type {string} */ problem) => ({ holds: () => false, problem });
  if (metric) {
    if (!Number.isFinite(number)) return never(`“${value}” is no number, such as 2, 5ms or 64MiB`);
    return { holds: (run) => {
      const measured = metric.values[run];
      return measured != null && compare(measured, number);
    } };
  }
  if (!key) return never(`“${name}” is no measure and no key that varies${near(name, [...keys.map((one) => one.path), ...metricAt.keys(), ...metrics.map((one) => brief(one.path))])}`);
  const { numbers, codes, texts } = key;
  if (numbers && Number.isFinite(number)) return { holds: (run) => compare(numbers[codes[run]], number) };
  if (!sign.endsWith("=") || sign === "<=" || sign === ">=") return never(`${key.path} has words as values; = and != compare them`);
  const bare = (/** @type {string} */ text) => text.replaceAll(/\s/g, "").toLowerCase();
  const code = texts.findIndex((text) => bare(text) === bare(value));
  if (code < 0) return never(`no run has ${key.path} = “${value}”${near(value, texts)}`);
  return { holds: (run) => (codes[run] === code) === (sign === "=") };
}

// The path of a measure without units and `all`, as the command line takes it: response.p99.
/** @type {(path: string) => string} */
function brief(path) {
  return path.split(".").filter((step) => step !== "all").map((step) => step.replace(/_(ns|pages|blocks|bytes)$/, "")).join(".");
}

/** The nearest of some texts, where one is near. @type {(given: string, texts: string[]) => string} */
function near(given, texts) {
  const best = texts.map((text) => ({ text, far: distance(given.toLowerCase(), text.toLowerCase()) })).sort((a, b) => a.far - b.far)[0];
  return best && best.far <= Math.max(1, given.length / 3) ? `; did you mean ${best.text}?` : "";
}

/** How many letters to put in, leave out or change. @type {(a: string, b: string) => number} */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...a].entries()) {
    const above = row;
    row = [at + 1];
    for (let to = 1; to <= b.length; to += 1) row[to] = Math.min(above[to] + 1, row[to - 1] + 1, above[to - 1] + Number(letter !== b[to - 1]));
  }
  return row[b.length];
}

// The conditions of the search. Spaces may stand around a sign, before a unit, and in the name of a key.
/** @type {() => ReturnType<typeof condition>[]} */
function conditions() {
  let text = state.search.trim().replaceAll(/\s*(<=|>=|!=|=|<|>)\s*/g, "$1")
    .replaceAll(/([<>=]-?[\d.,]+)\s+([a-zµ%]+)(?!\S)/gi, (whole, number, unit) => (UNITS.has(unit.toLowerCase().replace("µ", "u")) ? number + unit : whole));
  for (const key of keys) {
    if (key.label.includes(" ")) text = text.replaceAll(new RegExp(`${key.label}(?=[<>=!])`, "gi"), key.path);
  }
  return text.split(/\s+/).filter(Boolean).map(condition);
}

const UNITS = new Map(Object.entries(data.units).map(([name, worth]) => [name.toLowerCase(), worth]));

/** @type {(value: string) => number} */
function quantity(value) {
  const found = /^(-?[\d.]+(?:e-?\d+)?)\s*([a-zµ%]*)$/i.exec(value.replaceAll(",", ""));
  if (!found) return NaN;
  return Number(found[1]) * (found[2] ? UNITS.get(found[2].toLowerCase().replace("µ", "u")) ?? NaN : 1);
}

/** @type {string[]} */
const haystacks = [];
/** @type {(run: Run) => string} */
function haystack(run) {
  const texts = () => keys.map((key) => `${key.label} ${textOf(key, run)} ${textOf(key, run).replaceAll(/\s/g, "")}`);
  haystacks[run] ??= [...texts(), labels[run], data.hashes[run]].join(" ").toLowerCase();
  return haystacks[run];
}

/** @type {Run[] | null} */
let matching = null;
/** @type {() => Run[]} */
function filtered() {
  if (!matching) {
    const asked = conditions();
    const fixed = [...state.fixed];
    matching = runs.filter((run) =>
      fixed.every(([key, code]) => key.codes[run] === code) && asked.every(({ holds }) => holds(run)));
    state.problems = asked.flatMap(({ problem }) => problem ?? []);
  }
  return matching;
}

/** @type {() => Run[]} */
function ordered() {
  const { column, descending } = state.sort;
  if (!column) return filtered();
  const values = column.codes ?? column.values;
  return [...filtered()].sort((a, b) => {
    const [x, y] = [values[a], values[b]];
    // Runs without a value come last, in both directions.
    if (x == null || y == null) return Number(x == null) - Number(y == null) || a - b;
    return (x < y ? -1 : x > y ? 1 : a - b) * (descending && x !== y ? -1 : 1);
  });
}

/** @type {(place: HTMLElement) => void} */
function buildFilter(place) {
  if (runs.length < 2) return place.remove();
  const search = el("input", {
    type: "search", id: "search", value: state.search, autocomplete: "off", spellcheck: "false", "aria-describedby": "search-problem",
    placeholder: "such as cdm, waf_host < 2, response.p99 < 5 ms",
    input: () => { state.search = search.value; filterChanged(); },
  });
  const choices = keys.filter((key) => key.texts.length > 1 && key.texts.length <= 60).map((key) => menu(`only-${key.path}`, key.label,
    [option("any", ""), ...key.texts.map((text, code) => option(text, code, state.fixed.get(key) === code))], (code) => {
      if (code === "") state.fixed.delete(key);
      else state.fixed.set(key, Number(code));
      filterChanged();
    }));
  const clear = el("button", {
    type: "button", id: "clear", hidden: true,
    click: () => {
      state.search = search.value = "";
      state.fixed.clear();
      $$("select", place).forEach((select) => { select.value = ""; });
      filterChanged();
      search.focus();
    },
  }, "Clear");
  place.append(
    el("div", { class: "field wide" }, el("label", { for: "search" }, "Filter the runs"), search,
      el("p", { class: "note", id: "search-problem", "aria-live": "polite", hidden: true })),
    ...choices,
    el("div", { class: "field count" }, el("output", { id: "count", for: "search" }), clear));
}

function filterChanged() {
  matching = null;
  state.rowsShown = 100;
  showCount();
  refresh();
  writeAddress();
}

function showCount() {
  const output = $("#count");
  if (!output) return;
  const count = filtered().length;
  output.textContent = count === runs.length ? plural(count, "run") : `${grouped(count)} of ${plural(runs.length, "run")}`;
  const problem = $("#search-problem");
  problem.textContent = capital(state.problems.join("; "));
  problem.hidden = !state.problems.length;
  $("#clear").hidden = count === runs.length && !state.search;
}

// ---- The table ----

/** @type {() => Column[]} */
function columnsShown() {
  return [...keys, ...metrics.filter((metric) => state.columns.has(metric.path))];
}

/** @type {(place: HTMLElement) => void} */
function buildTable(place) {
  const chooser = el("details", { class: "chooser" }, el("summary", {}, "Columns"),
    el("fieldset", {}, el("legend", {}, "Measures shown as columns"), ...metrics.map((metric) => {
      const box = el("input", {
        type: "checkbox", checked: state.columns.has(metric.path),
        change: () => { state.columns[box.checked ? "add" : "delete"](metric.path); fillTable(); },
      });
      return el("label", {}, box, " ", metric.label);
    })));
  const save = el("button", { type: "button", click: () => saveTable() }, "CSV of all measures");
  place.append(el("div", { class: "above" }, chooser, save),
    el("div", { class: "scroll", id: "runs-scroll", tabindex: 0, role: "region", "aria-label": "Table of the runs" },
      el("table", { id: "runs-table" })),
    el("p", { class: "more" }));
  fillTable();
}

// Of a single run: a row for each measure.
/** @type {(place: HTMLElement) => void} */
function buildOnly(place) {
  $("h2", place).textContent = "What was counted";
  /** @type {(headline: boolean) => TableCell[][]} */
  const part = (headline) => metrics.filter((metric) => metric.headline === headline).map(({ label, values, unit }) => [label, show(values[0], unit)]);
  const table = scrolled("Every measure", "Every measure of the run", ["measure", "value"], [part(true), part(false)]);
  table.id = "runs-table";
  place.append(el("div", { class: "above after" }, el("button", { type: "button", click: saveTable }, "CSV")), table);
}

function fillTable() {
  if (runs.length === 1) return;
  const columns = columnsShown();
  const all = ordered();
  const head = columns.map((column) => {
    const sorted = state.sort.column === column;
    const direction = sorted ? (state.sort.descending ? "descending" : "ascending") : "none";
    const sort = () => {
      state.sort = { column, descending: sorted ? !state.sort.descending : false };
      fillTable();
      refreshOrder();
      $$("#runs-table thead button").find((button) => button.dataset.path === column.path)?.focus();
      say(`Sorted by ${column.label}, ${state.sort.descending ? "descending" : "ascending"}`);
    };
    return el("th", { scope: "col", "data-label": column.label, "aria-sort": direction, class: column.codes && !column.numbers ? "text" : null },
      el("button", { type: "button", "data-path": column.path, title: `Sort by ${column.path}`, click: sort },
        column.label, el("i", { "aria-hidden": "true" }, sorted ? (state.sort.descending ? "↓" : "↑") : "↕")));
  });
  const rows = all.slice(0, state.rowsShown).map((run) => tableRow(run, columns));
  const empty = el("tr", {}, el("td", { colspan: columns.length + 1, class: "text" }, "No run matches the filter."));
  $("#runs-table").replaceChildren(
    el("caption", {}, `${plural(all.length, "run")}. Those ticked, up to ${SELECTED_MAX}, are drawn below.`),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "tick" }, el("span", { class: "unseen" }, "Drawn below")), ...head)),
    el("tbody", {}, ...(rows.length ? rows : [empty])));
  const left = all.length - rows.length;
  $(".more").replaceChildren(...(left > 0 ? [el("button", {
    type: "button", click: () => { state.rowsShown = Infinity; fillTable(); },
  }, `Show the other ${plural(left, "run")}`)] : []));
}

/** @type {(run: Run, columns: Column[]) => HTMLElement} */
function tableRow(run, columns) {
  const box = el("input", {
    type: "checkbox", "aria-label": `Draw ${labels[run]}`, "data-run": run,
    change: () => { select(run, box.checked); box.checked = state.selected.includes(run); },
  });
  box.checked = state.selected.includes(run);
  return el("tr", {}, el("td", { class: "tick" }, box), ...columns.map((column, place) => {
    const shown = column.codes ? textOf(column, run) : show(column.values[run], column.unit);
    const kind = column.codes && !column.numbers ? "text" : null;
    return place ? el("td", { class: kind }, shown) : el("th", { scope: "row", class: kind }, shown);
  }));
}

function saveTable() {
  const rows = ordered().map((run) => [
    labels[run], data.hashes[run], ...keys.map((key) => (key.numbers ? key.numbers[key.codes[run]] : textOf(key, run))),
    ...metrics.map((metric) => metric.values[run]),
  ]);
  const columns = ["run", "scenario_hash", ...keys.map((key) => key.path), ...metrics.map((metric) => metric.path)];
  download("runs.csv", csv(columns, rows), "text/csv");
}

// ---- The runs that are drawn one by one ----

/** @type {(run: Run, wanted: boolean) => void} */
function select(run, wanted) {
  if (!wanted) state.selected = state.selected.filter((other) => other !== run);
  else if (!state.selected.includes(run)) {
    if (state.selected.length >= SELECTED_MAX) return say(`At most ${SELECTED_MAX} runs are drawn at once`);
    state.selected = [...state.selected, run];
  }
  $$("#runs-table input[data-run]").forEach((box) => { box.checked = state.selected.includes(Number(box.dataset.run)); });
  refreshSelection();
}
