// Two runs side by side; and how a run is run again.

const pair = { a: 0, b: 0 };

/** @type {(id: string, label: string, chosen: Run, act: (run: Run) => void) => HTMLElement} */
function runMenu(id, label, chosen, act) {
  return menu(id, label, runs.map((run) => option(labels[run], run, run === chosen)), (run) => act(Number(run)), "field wide");
}

/** @type {(place: HTMLElement) => void} */
function buildCompare(place) {
  const chosen = question ? pairs(question.key, question.from, question.to) : [];
  [pair.a, pair.b] = chosen[Math.floor(chosen.length / 2)] ?? [0, runs.length - 1];
  const swap = () => {
    [pair.a, pair.b] = [pair.b, pair.a];
    [$("#run-a").value, $("#run-b").value] = [pair.a, pair.b];
    fillCompare();
  };
  place.append(
    el("div", { class: "fields" },
      runMenu("run-a", "A", pair.a, (run) => { pair.a = run; fillCompare(); }),
      el("button", { type: "button", class: "swap", "aria-label": "Swap A and B", click: swap }, "⇄"),
      runMenu("run-b", "B", pair.b, (run) => { pair.b = run; fillCompare(); })),
    el("div", { id: "compared" }),
    el("div", { class: "above after" }, el("button", { type: "button", click: saveCompare }, "CSV")));
  fillCompare();
}

/** @type {(run: Run) => Map<string, string>} */
function asMap(run) {
  return new Map(scenarioLines(run).map((line) => {
    const at = line.indexOf(" = ");
    return [line.slice(0, at), line.slice(at + 3)];
  }));
}

function fillCompare() {
  const { a, b } = pair;
  const [ours, theirs] = [asMap(a), asMap(b)];
  const paths = [...new Set([...ours.keys(), ...theirs.keys()])].filter((path) => ours.get(path) !== theirs.get(path));
  /** @type {(metric: Metric) => TableCell[]} */
  const row = ({ label, unit, values, better }) => {
    const relative = change(values[b], values[a]);
    return [label, show(values[a], unit), show(values[b], unit), changeCell(relative == null ? NONE : showChange(relative), verdict(better, relative))];
  };
  /** @type {(headline: boolean) => HTMLElement} */
  const table = (headline) => scrolled(headline ? "Measures of A and B" : "More measures of A and B", "What they counted, and the change from A to B", ["measure", "A", "B", "change"],
    [metrics.filter((metric) => metric.headline === headline && (headline || metric.values[a] !== metric.values[b])).map(row)]);
  $("#compared").replaceChildren(
    paths.length
      ? scrolled("Differences of the scenarios", "What differs in their scenarios", ["key", "A", "B"],
        [paths.map((path) => [path, [ours.get(path) ?? NONE, "text"], [theirs.get(path) ?? NONE, "text"]])], "code")
      : el("p", {}, "Their scenarios are the same."),
    table(true),
    el("details", { id: "all-measures", open: $("#all-measures")?.open }, el("summary", {}, "Every measure that differs"), table(false)));
}

function saveCompare() {
  const rows = metrics.map(({ path, values }) => [path, values[pair.a], values[pair.b], change(values[pair.b], values[pair.a])]);
  download("compared.csv", csv(["metric", labels[pair.a], labels[pair.b], "change"], rows), "text/csv");
}

// ---- How to run it again ----

/** @type {(place: HTMLElement) => void} */
function buildAgain(place) {
  const body = el("div");
  const fill = (/** @type {Run} */ run) => {
    const facts = data.runs[run];
    const name = `${fileName(labels[run])}.toml`;
    const content = `${scenarioLines(run).join("\n")}\n`;
    const command = `coflash run ${name} --out results/${fileName(labels[run])}`;
    /** @type {(term: string, text: string, code?: boolean) => HTMLElement[]} */
    const fact = (term, text, code = false) => [el("dt", {}, term), el("dd", {}, code ? el("code", {}, text) : text)];
    /** @type {(label: string, value: string) => HTMLElement} */
    const copy = (label, value) => el("button", {
      type: "button", click: async () => {
        await navigator.clipboard.writeText(value);
        say("Copied");
      },
    }, label);
    const twin = el("p", {}, "The folder of the session has its trace. ", el("code", {}, "coflash device twin DIR"), " simulates it again, to equal measures.");
    const served = facts.workload === "a served device";
    body.replaceChildren(
      served ? twin : el("ol", { class: "steps" },
        el("li", {}, "Save the scenario: ", el("button", { type: "button", id: "save-scenario", click: () => download(name, content, "application/toml") }, name)),
        el("li", {}, `Run it with coflash ${facts.coflash}, or another of revision ${facts.revision} of results: `, el("code", {}, command), " ", navigator.clipboard ? copy("Copy", command) : null),
        el("li", {}, "The same scenario, inputs and revision of results give the same result, bit for bit.")),
      el("dl", { class: "facts" },
        ...fact("Workload", facts.workload),
        ...(facts.replay ? fact("Replay", facts.replay) : []),
        ...facts.inputs.flatMap(([file, digest]) => fact(`SHA-256 of ${file}`, digest, true)),
        ...fact("Fingerprint of the scenario", data.hashes[run], true),
        ...fact("Seed", String(facts.seed)),
        ...fact(served ? "Pace of the session" : "Speed of the simulator", `${show(facts.pace, "requests")} requests per second`),
        ...(facts.memory ? fact("Peak memory", show(facts.memory, "bytes")) : [])),
      ...(facts.remarks.length ? [el("ul", { class: "remarks" }, ...facts.remarks.map((remark) => el("li", {}, remark)))] : []),
      el("details", {}, el("summary", {}, "The whole scenario"), el("pre", { tabindex: 0 }, content)));
  };
  place.append(el("div", { class: "fields" }, runs.length > 1 ? runMenu("run-again", "Run", pair.b, fill) : null), body);
  fill(pair.b);
}
