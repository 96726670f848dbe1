/** The guided stories: one for each paper. Each step is a state of the page that the reader can take over. */

import type { Choices } from "./scenario";
import stories from "./stories.json";

/** What a step looks at. */
export type Focus = "drives" | "victims" | "chart" | "controls";

export interface Step {
  title: string;
  text: string;
  choices: Partial<Choices>;
  requests: number;
  focus: Focus;
  /** Whether the drives run while the step is read. */
  runs?: boolean;
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
