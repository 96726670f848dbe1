/** The address of a state: a link repeats it at that very request. */

import { type Choices, FIRST, FIRST_REQUESTS, SCHEMES, WORKLOADS } from "./scenario";
import { STORIES } from "./stories";

/** Return the state of an address, with what is missing or wrong as at first. */
export function read(hash: string) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const one = <T extends string>(name: string, allowed: object, otherwise: T): T => {
    const given = fields.get(name);
    return given !== null && Object.hasOwn(allowed, given) ? (given as T) : otherwise;
  };
  const whole = (name: string, most: number, otherwise: number): number => {
    const given = Number(fields.get(name) ?? Number.NaN);
    return Number.isInteger(given) && given >= 0 && given <= most ? given : otherwise;
  };
  const choices: Choices = {
    workload: one("workload", WORKLOADS, FIRST.workload),
    scheme: one("scheme", SCHEMES, FIRST.scheme),
    cache: Math.max(1, whole("cache", 30, FIRST.cache)),
    score: (fields.get("score") ?? "").slice(0, 400),
    seed: whole("seed", 0xffffffff, FIRST.seed),
  };
  const story = one<string>("story", STORIES, "");
  const step = whole("step", (STORIES[story]?.steps.length ?? 1) - 1, 0);
  return { choices, requests: whole("requests", 50_000_000, FIRST_REQUESTS), story, step };
}

/** A state of the page: its choices, the requests served, and the story that is open. */
export type State = ReturnType<typeof read>;

/** Return the address of a state. */
export function write({ choices, requests, story, step }: State): string {
  const fields = { ...choices, requests, story, step: story ? step : "" };
  return `#${new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== "").map(([name, value]) => [name, String(value)]))}`;
}
