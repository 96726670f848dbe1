// The choice of runs: a filter for the whole page, the table of the runs, and the few that are drawn one by one.

const SELECTED_MAX = 8;

const state = {
  search: "",
  /** @type {string[]} The words of the search that no run has. */
  missing: [],
  /** @type {Map<Key, Code>} The value that a key must have. */
  fixed: new Map(),
  selected: data.first.runs,
  /** @type {{ column: Column | null, descending: boolean }} */
  sort: { column: null, descending: false },
  columns: new Set(metrics.filter((metric) => metric.headline).map((metric) => metric.path)),
  rowsShown: 100,
};

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
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const fixed = [...state.fixed];
    matching = runs.filter((run) =>
      fixed.every(([key, code]) => key.codes[run] === code) && words.every((word) => haystack(run).includes(word)));
    state.missing = words.filter((word) => !runs.some((run) => haystack(run).includes(word)));
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
    placeholder: "words of the values, such as cdm 64MiB",
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
  problem.textContent = state.missing.length ? `No run has “${state.missing.join("” or “")}”` : "";
  problem.hidden = !state.missing.length;
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
