/** The panels of the drives, and the words of the page that go with its choices. */

import type { Measure } from "./drive";
import type { Snapshot } from "./drives";
import type { Metrics, Numbers, Victim } from "./kernel";
import { $, number } from "./page";
import { type Choices, SCHEMES, type Side, WORKLOADS, readShare, scenario } from "./scenario";

/** Make the panels of a bench. */
export function panels(root: ParentNode): void {
  for (const panel of root.querySelectorAll<HTMLElement>("[data-side]")) {
    panel.append($<HTMLTemplateElement>("#drive").content.cloneNode(true));
    panel.querySelector("canvas")!.setAttribute("aria-label", `The ${panel.dataset["side"]} drive, at work`);
  }
}

/** Write the words of a bench that go with its choices. */
export function labelDrives(root: ParentNode, choices: Choices): void {
  const { family, ...scheme } = SCHEMES[choices.scheme];
  const titles: Record<Side, [string, string]> = {
    left: [`Left: ${family.left}`, family.leftSays],
    right: [`Right: ${family.chart === "waf" ? "with cooperation, " : ""}${scheme.title}`, scheme.says],
    own: ["Yours", "the right drive, but your score chooses the victims: also those of the warm-up, so that it begins with another flash"],
  };
  const panels = [...root.querySelectorAll<HTMLElement>("[data-side]:not(td)")];
  for (const panel of panels) {
    const [title, says] = titles[panel.dataset["side"] as Side];
    panel.setAttribute("aria-label", title);
    panel.querySelector(".name")!.textContent = title;
    panel.querySelector(".says")!.textContent = says;
    panel.querySelector<HTMLElement>(".in-vain")!.hidden = family.newer === "";
    panel.querySelector<HTMLElement>(".division")!.hidden = family.division === "";
  }
  const cells = (path: string): string => panels.map(({ dataset: { side } }) => `<td data-side="${side}" data-path="${path}">–</td>`).join("");
  root.querySelector('[data-part="counters"]')!.innerHTML = rows(family).map(([name, path]) => `<tr><th scope="row">${name}</th>${cells(path)}</tr>`).join("");
  root.querySelector('[data-part="chart-title"]')!.textContent = family.chart === "waf" ? "Write amplification: flash pages written for each page that the computer writes" : "Mean response time, in milliseconds";
}

/** Write the words of the page that go with its choices. */
export function labelPage(choices: Choices): void {
  const { family } = SCHEMES[choices.scheme];
  $("#question").textContent = family.question;
  $("#lead").textContent = family.lead;
  $("#slider").textContent = family.slider;
  $<HTMLSelectElement>("#workload").value = choices.workload;
  $<HTMLSelectElement>("#scheme").value = choices.scheme;
  $<HTMLInputElement>("#cache").value = String(choices.cache);
  $("#cache-value").textContent = `${choices.cache} %`;
  // Not while it is written.
  if (document.activeElement !== $("#score")) $<HTMLInputElement>("#score").value = choices.score;
  $<HTMLTextAreaElement>("#toml").value = scenario(choices, "right");
  $("#workload-says").textContent = `${WORKLOADS[choices.workload].title}: ${WORKLOADS[choices.workload].says}; ${readShare(choices.workload)} of requests read`;
  const kinds: [string, string][] = [
    ["valid", family.valid], ["newer", family.newer], ["same", family.same], ["invalid", "invalid: old data"], ["told", family.told],
    ["marked", family.marked], ["free", "erased"], ["frame", "the block cleaned last"],
  ];
  $("#legend").innerHTML = kinds.filter(([, says]) => says).map(([kind, says]) => `<li><i class="${kind}"></i>${says}</li>`).join("");
}

/** The counters beside a drive, the one that counts first. */
function rows({ chart, rows }: { chart: Measure; rows: readonly (readonly [string, string])[] }): (readonly [string, string])[] {
  const waf = ["write amplification", "waf_host"] as const;
  const response = ["mean response time", "response_mean_ns"] as const;
  return [...(chart === "waf" ? [waf, ...rows, response] : [response, ...rows]), ["victims of GC", "victims"], ["of the last one", "last"]];
}

/** Write the copies of a drive, and those in vain: of the victim that is shown, or of the run so far. */
export function tellCopies(panel: HTMLElement, { copied, wasted }: { copied: number; wasted: number }, which: string): void {
  panel.querySelector(".copied")!.textContent = number(copied);
  panel.querySelector(".wasted")!.textContent = number(wasted);
  panel.querySelector(".which")!.textContent = which;
}

/** Show the room that a cleaning of each drive frees, and its cleanings so far, as bars of one scale. */
export function tellBars(drives: readonly { panel: HTMLElement; now: Snapshot }[]): void {
  const values = drives.map(({ now: { numbers, perBlock } }) => ({ freed: freed(numbers, perBlock), victims: numbers.victims }));
  for (const name of ["freed", "victims"] as const) {
    const most = Math.max(1, ...values.map((value) => value[name]));
    const digits = Math.max(name === "freed" ? 2 : 5, number(most).length);
    drives.forEach(({ panel }, at) => {
      const [bar, text] = panel.querySelectorAll<HTMLElement>(`.${name}`);
      const value = values[at]![name];
      bar!.style.cssText = `--share: ${value / most}; --count: ${value}; --digits: ${digits}`;
      text!.textContent = number(value);
    });
  }
}

/** The pages of room that a cleaning comes to: those of a block, less the copies that go to another one. */
const freed = ({ victims, gc_copies_pages: copies }: Numbers, perBlock: number): number => (victims === 0 ? 0 : perBlock - Math.round(copies / victims));

/** Write the counters of a drive; `isStill` if a reader has time to have them read aloud. */
export function tellCounters(root: ParentNode, panel: HTMLElement, side: Side, { numbers, words, lastVictim }: Snapshot, metrics: Metrics, choices: Choices, isStill: boolean): void {
  const became = said(lastVictim);
  for (const cell of root.querySelectorAll<HTMLElement>(`td[data-side="${side}"]`)) {
    const path = cell.dataset["path"]!;
    cell.textContent = path === "last" ? became : valueOf(numbers, metrics, path);
  }
  if (isStill) panel.querySelector("canvas")!.setAttribute("aria-label", `The ${side} drive, ${WORKLOADS[choices.workload].title}: ${shares(words)}. Its last victim: ${became}.`);
}

/** Show how a flash cache divides its flash: pages that only were read, pages that were written, and what is left to GC. */
export function tellDivision(panel: HTMLElement, side: Side, { words }: Snapshot, metrics: Metrics): void {
  const division = panel.querySelector<HTMLElement>(".division")!;
  if (division.hidden) return;
  const held = words.reduce((count, word) => count + Number((word & 3) === 2), 0);
  const read = words.reduce((count, word) => count + Number((word & 15) === 6), 0);
  const parts: [string, number][] = [["read", read], ["written", held - read], ["left to GC", words.length - held]];
  const percent = (pages: number): string => `${Math.round((100 * pages) / words.length)}\u00a0%`;
  division.querySelector("p")!.innerHTML = parts.map(([, pages], at) => `<i class="${["same", "valid", "free"][at]}" style="flex-grow: ${pages}"></i>`).join("");
  const { read_limit_pages: forReads = 0, write_limit_pages: forWrites = 0 } = (metrics["hybrid"] as { sizes: Record<string, number>[] }).sizes.at(-1) ?? {};
  const allowed = side === "left" ? `${percent(forReads + forWrites)} in all` : `${percent(forReads)} read, ${percent(forWrites)} written`;
  division.querySelector("small")!.textContent = `Of its flash ${parts.map(([name, pages]) => `${percent(pages)} ${name}`).join(", ")}. Allowed: ${allowed}.`;
}

/** Return a counter as the page writes it. */
function valueOf(numbers: Numbers, metrics: Metrics, path: string): string {
  const value = path in numbers ? numbers[path as keyof Numbers] : path.split(".").reduce<unknown>((one, name) => (one as Record<string, unknown> | undefined)?.[name], metrics);
  if (typeof value !== "number" || Number.isNaN(value)) return "–";
  if (path.endsWith("_ns")) return `${(value / 1e6).toFixed(2)}\u00a0ms`;
  if (path.endsWith("ratio")) return `${(100 * value).toFixed(1)}\u00a0%`;
  return path.startsWith("waf") ? value.toFixed(2) : number(value);
}

/** Return the shares of a drive's pages, in words. */
function shares(words: Uint32Array): string {
  const count = (...states: number[]): string => `${Math.round((100 * words.filter((word) => states.includes(word & 3)).length) / words.length)} %`;
  return `${count(2)} of its pages are valid, ${count(1, 3)} invalid, ${count(0)} erased`;
}

/** Return what became of a victim, in words. */
export function said(victim: Victim | null): string {
  if (victim === null) return "none yet";
  const count = (answer: string): number => victim.pages.filter((page) => page.answer === answer).length;
  const wasted = victim.pages.filter(({ answer, held }) => held === 2 && (answer === "copied" || answer === "fast")).length;
  const [copied, dropped, buffer, fast, moved] = [count("copied"), count("dropped"), count("from-buffer"), count("fast"), count("moved-in")];
  const others: [number, string][] = [
    [wasted, "of them wasted: newer data waits already"], [moved, "moved into the cache"], [dropped, "dropped: the cache has them"],
    [buffer, "with newer data from the buffer"], [fast, "to a fast block"],
  ];
  return [`${copied} pages copied`, ...others.filter(([pages]) => pages > 0).map(([pages, became]) => `${pages} ${became}`)].join(", ");
}

/** Return what the right drive comes to beside the left one, in words. A block has `perBlock` pages. */
export function compared(left: Numbers, right: Numbers, chart: Measure, perBlock: number): string {
  if (right.requests === 0) return "nothing is measured yet";
  const [one, other] = chart === "waf" ? [left.programs_pages, right.programs_pages] : [left.response_mean_ns || 0, right.response_mean_ns || 0];
  const percent = (from: number, to: number, less: string): string => `${Math.round((100 * Math.abs(from - to)) / Math.max(1, from))}\u00a0% ${from >= to ? less : "more"}`;
  if (chart === "waf") {
    if (one === other) return "both drives have written the same number of flash pages";
    const because = freed(right, perBlock) > freed(left, perBlock) && right.victims < left.victims ? ": each cleaning frees more room, so fewer are needed, and useful copies are spared, too" : "";
    return `${percent(left.gc_copies_pages, right.gc_copies_pages, "fewer")} copies on the right${because}. In all, ${percent(one, other, "fewer")} flash pages written${one > other ? ", so less wear" : ""}.`;
  }
  return `a request takes ${(other / 1e6).toFixed(2)} ms on the right, ${(one / 1e6).toFixed(2)} ms on the left: ${percent(one, other, "less")}`;
}
