// Two runs side by side; and how a run is run again.

const pair = { a: 0, b: 0, whole: false };

/** @type {(id: string, label: string, chosen: Run, act: (run: Run) => void) => HTMLElement} */
function runMenu(id, label, chosen, act) {
  return menu(id, label, runs.map((run) => option(labels[run], run, run === chosen)), (run) => act(Number(run)), "field wide");
}

/** @type {(place: HTMLElement) => void} */
function buildCompare(place) {
  if (runs.length < 2) return place.remove();
  const found = question ? pairs(question.key, question.from, question.to) : [];
  [pair.a, pair.b] = found[Math.floor(found.length / 2)] ?? [0, runs.length - 1];
  place.append(
    el("div", { class: "fields" },
      runMenu("run-a", "A", pair.a, (run) => { pair.a = run; fillCompare(); }),
      el("button", {
        type: "button", class: "swap", "aria-label": "Swap A and B", click: () => {
          [pair.a, pair.b] = [pair.b, pair.a];
          [$("#run-a").value, $("#run-b").value] = [pair.a, pair.b];
          fillCompare();
        },
      }, "⇄"),
      runMenu("run-b", "B", pair.b, (run) => { pair.b = run; fillCompare(); })),
    el("div", { id: "differences" }), el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Measures of A and B" }, el("table", { id: "compared" })),
    el("div", { class: "above after" },
      el("button", {
        type: "button", id: "all-measures", "aria-expanded": "false", "aria-controls": "compared", click: (/** @type {{ target: HTMLElement }} */ { target }) => {
          pair.whole = !pair.whole;
          target.setAttribute("aria-expanded", String(pair.whole));
          target.textContent = pair.whole ? "Only the main measures" : "Every measure";
          $("#compared .rest").hidden = !pair.whole;
        },
      }, "Every measure"),
      el("button", { type: "button", click: saveCompare }, "CSV")));
  fillCompare();
  return undefined;
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
  const head = el("thead", {}, el("tr", {}, ...["key", "A", "B"].map((name) => el("th", { scope: "col", class: "text" }, name))));
  $("#differences").replaceChildren(paths.length
    ? el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Differences of the scenarios" }, el("table", { class: "code" }, el("caption", {}, "What differs in their scenarios"), head,
      el("tbody", {}, ...paths.map((path) => el("tr", {}, el("th", { scope: "row" }, path),
        ...[ours, theirs].map((scenario) => el("td", { class: "text" }, scenario.get(path) ?? NONE)))))))
    : el("p", {}, "Their scenarios are the same."));
  const rows = metrics.filter((metric) => metric.headline || metric.values[a] !== metric.values[b]);
  const row = (/** @type {Metric} */ metric) => {
    const relative = change(metric.values[b], metric.values[a]);
    const word = verdict(metric, relative);
    return el("tr", {}, el("th", { scope: "row" }, metric.label), el("td", {}, show(metric.values[a], metric.unit)),
      el("td", {}, show(metric.values[b], metric.unit)),
      el("td", { class: word }, relative == null ? NONE : showChange(relative), word ? el("span", { class: "unseen" }, ` ${word}`) : null));
  };
  const [first, rest] = [rows.filter((metric) => metric.headline), rows.filter((metric) => !metric.headline)];
  $("#compared").replaceChildren(el("caption", {}, "What they counted, and the change from A to B"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "text" }, "measure"), ...["A", "B", "change"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...first.map(row)), el("tbody", { class: "rest", hidden: !pair.whole }, ...rest.map(row)));
}

function saveCompare() {
  const rows = metrics.map((metric) => [metric.path, metric.values[pair.a], metric.values[pair.b], change(metric.values[pair.b], metric.values[pair.a])]);
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
  if (runs.length > 1) place.append(el("div", { class: "fields" }, runMenu("run-again", "Run", pair.b, fill)));
  place.append(body);
  fill(runs.length > 1 ? pair.b : 0);
}
