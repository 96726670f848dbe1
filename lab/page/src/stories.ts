/** The guided stories: one for each paper. Each step is a figure, in a state that the reader can take over. */

import type { Choices } from "./scenario";
import stories from "./stories.json";

/** What a step looks at. */
type Focus = "drives" | "victims" | "chart" | "counters";

export interface Step {
  title: string;
  text: string;
  choices: Choices;
  requests: number;
  focus: readonly Focus[];
  /** What the paper has for the difference of a measure, and why that is not ours. */
  paper?: { says: string; measure: "gc_copies_pages" | "programs_pages" | "response_mean_ns"; why: string };
}

export interface Story {
  title: string;
  paper: string;
  steps: readonly Step[];
}

/** The stories; a step has the choices of its story, but for its own. */
export const STORIES: Record<string, Story> = Object.fromEntries(
  Object.entries(stories as unknown as Record<string, Story & { choices: Choices }>).map(([name, { choices, steps, ...story }]) => [
    name,
    { ...story, steps: steps.map((step) => ({ ...step, choices: { ...choices, ...step.choices } })) },
  ]),
);
