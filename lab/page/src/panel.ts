/** The panels of the drives, and the words of the page that go with its choices. */

import type { Drive, Measure } from "./drive";
import type { Counters, Victim } from "./kernel";
import { $, number } from "./page";
import { type Choices, SCHEMES, type Side, WORKLOADS, scenario } from "./scenario";

const SIDES: readonly Side[] = ["left", "right", "own"];

/** Make the panels. */
export function panels(): void {
  for (const side of SIDES) {
    const panel = $(`#${side}`);
    panel.append($<HTMLTemplateElement>("#drive").content.cloneNode(true));
    panel.querySelector("h2")!.id = `${side}-title`;
    if (side === "own") panel.querySelector("[data-focus]")!.removeAttribute("data-focus");
  }
}

/** Write the words of the choices. */
export function label(choices: Choices): void {
  const { family, ...scheme } = SCHEMES[choices.scheme];
  $("#question").textContent = family.question;
  $("#lead").textContent = family.lead;
  const titles: Record<Side, [string, string]> = {
    left: [`Left: ${family.left}`, family.leftSays],
    right: [`Right: ${scheme.title}`, scheme.says],
    own: ["Yours", "the right drive, but your score chooses the victims"],
  };
  for (const side of SIDES) {
    const panel = $(`#${side}`);
    [panel.querySelector("h2")!.textContent, panel.querySelector(".says")!.textContent] = titles[side];
    panel.querySelector("dl")!.innerHTML = rows(family).map(([name, path]) => `<div><dt>${name}</dt><dd data-path="${path}">–</dd></div>`).join("");
  }
  $("#slider").textContent = family.slider;
  $<HTMLSelectElement>("#workload").value = choices.workload;
  $<HTMLSelectElement>("#scheme").value = choices.scheme;
  $<HTMLInputElement>("#cache").value = String(choices.cache);
  $("#cache-value").textContent = `${choices.cache} %`;
  $<HTMLInputElement>("#score").value = choices.score;
  $<HTMLTextAreaElement>("#toml").value = scenario(choices, "right");
  $("#workload-says").textContent = `${WORKLOADS[choices.workload].title}: ${WORKLOADS[choices.workload].says}; 3 of 10 requests read`;
  $("#chart-title").textContent = family.chart === "waf" ? "Write amplification: flash pages written for each page that the computer writes" : "Mean response time, in milliseconds";
  const kinds: [string, string][] = [
    ["free", "erased"], ["valid", family.valid], ["invalid", "invalid: waste"], ["same", family.same], ["newer", family.newer],
    ["marked", family.marked], ["frame", "the block that GC cleaned last"],
  ];
  $("#legend").innerHTML = kinds.filter(([, says]) => says).map(([kind, says]) => `<li><i class="${kind}"></i>${says}</li>`).join("");
}

/** The counters beside a drive, the one that counts first. */
function rows({ chart, rows }: { chart: Measure; rows: readonly (readonly [string, string])[] }): (readonly [string, string])[] {
  const waf = ["write amplification", "waf_host"] as const;
  const response = ["mean response time", "response_mean_ns"] as const;
  return chart === "waf" ? [waf, ...rows, response] : [response, ...rows];
}

/** Write the counters of a drive; `isStill` if a reader has time to have them read aloud. */
export function tellCounters(side: Side, drive: Drive, choices: Choices, isStill: boolean): void {
  const panel = $(`#${side}`);
  for (const cell of panel.querySelectorAll<HTMLElement>("dd")) cell.textContent = valueOf(drive.counters, cell.dataset["path"]!);
  const became = said(drive.lastVictim);
  panel.querySelector(".became")!.textContent = became;
  if (!isStill) return;
  const facts = [...panel.querySelectorAll("dl > div")].map((row) => row.textContent).join("; ");
  panel.querySelector("canvas.drive")!.setAttribute("aria-label", `The ${side} drive, ${WORKLOADS[choices.workload].title}: ${shares(drive)}`);
  panel.querySelector("canvas.victim")!.setAttribute("aria-label", `Its last victim: ${became}. ${facts}`);
}

/** Return a counter as the page writes it. */
function valueOf(counters: Counters, path: string): string {
  const value = path in counters ? counters[path as keyof Counters] : path.split(".").reduce<unknown>((one, name) => (one as Record<string, unknown> | undefined)?.[name], counters.metrics);
  if (typeof value !== "number") return "–";
  if (path.endsWith("_ns")) return `${(value / 1e6).toFixed(2)}\u00a0ms`;
  if (path.endsWith("ratio")) return `${(100 * value).toFixed(1)}\u00a0%`;
  return path.startsWith("waf") ? value.toFixed(2) : number(value);
}

/** Return the shares of a drive's pages, in words. */
function shares(drive: Drive): string {
  const { bytes } = drive.pages();
  const count = (state: number): string => `${Math.round((100 * bytes.filter((byte) => (byte & 3) === state).length) / bytes.length)} %`;
  return `${count(2)} of its pages are valid, ${count(1)} invalid, ${count(0)} erased`;
}

/** Return what became of a victim, in words. */
export function said(victim: Victim | null): string {
  if (victim === null) return "none yet";
  const count = (answer: string): number => victim.pages.filter((page) => page.answer === answer).length;
  const [copied, dropped, buffer, fast, moved] = [count("copied"), count("dropped"), count("from-buffer"), count("fast"), count("moved-in")];
  return [
    `${copied} pages copied`,
    moved > 0 ? `${moved} moved into the cache` : "",
    dropped > 0 ? `${dropped} dropped: the cache has them` : "",
    buffer > 0 ? `${buffer} with newer data from the buffer` : "",
    fast > 0 ? `${fast} to a fast block` : "",
  ].filter(Boolean).join(", ");
}

/** Return what the right drive comes to beside the left one, in words. */
export function compared(left: Counters, right: Counters, chart: Measure): string {
  if (right.requests === 0) return "Nothing is measured yet";
  const [one, other] = chart === "waf" ? [left.programs_pages, right.programs_pages] : [left.response_mean_ns ?? 0, right.response_mean_ns ?? 0];
  const share = one > 0 ? Math.round((100 * Math.abs(one - other)) / one) : 0;
  if (chart === "waf") {
    if (one === other) return "Both drives have written the same number of flash pages";
    return `The right drive has written ${number(Math.abs(one - other))} ${one > other ? "fewer" : "more"} flash pages than the left: ${share}\u00a0%`;
  }
  return `A request takes ${(other / 1e6).toFixed(2)} ms on the right, ${(one / 1e6).toFixed(2)} ms on the left: ${share}\u00a0% ${one >= other ? "less" : "more"}`;
}
