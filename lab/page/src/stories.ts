/** The guided stories: one a paper. Each step is a state of the page that the reader can take over. */

import type { Choices } from "./scenario";

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

const CDM: Partial<Choices> = { workload: "hot-cold", scheme: "cdm", cache: 10, score: "", seed: 1 };
const SGC: Partial<Choices> = { workload: "hot-cold", scheme: "sgc", cache: 10, score: "", seed: 1 };

export const STORIES: Record<string, Story> = {
  removable: {
    title: "What a removable page is, and why it may come back",
    paper: "CDM (MSST 2016)",
    steps: [
      { title: "Two drives, one stream of requests", text: "Each large square is a block, each small one a page of 4 KiB. Both drives get the same requests, in the same order. Both have a cache that keeps its data without power.", choices: CDM, requests: 0, focus: "drives" },
      { title: "Flash cannot overwrite", text: "A page that is written again goes to a free page, and the old one becomes invalid: grey. Only a whole block can be erased.", choices: CDM, requests: 400, focus: "drives" },
      { title: "Garbage collection", text: "When free blocks run out, the drive takes the block with the fewest valid pages, copies these elsewhere, and erases it. The copies are writes that nobody asked for.", choices: CDM, requests: 2000, focus: "victims" },
      { title: "The cache holds some of them", text: "A hatched page is in the cache, too. On the left GC does not ask, and copies it all the same.", choices: CDM, requests: 6000, focus: "drives" },
      { title: "Removable", text: "On the right such a page is removable: GC drops it, because the cache has the same data. The copy is saved.", choices: CDM, requests: 12000, focus: "victims" },
      { title: "It may come back", text: "The cache now holds the only copy. When it evicts the page, it must write it to flash: a copy put off, and saved only if the page is overwritten first, or deleted.", choices: CDM, requests: 20000, focus: "victims" },
      { title: "Overwritten in the cache", text: "Most of the gain here is another: a page that is written in the cache is invalid in flash at once. On the left it stays valid until the cache evicts it, and GC copies old data. Choose “overwrites known” to see this part alone.", choices: { ...CDM, scheme: "cdm-overwrites" }, requests: 20000, focus: "chart", runs: true },
      { title: "What it comes to", text: "The lines are programs of flash for each page that the host writes: write amplification. Change the size of the cache, and see where cooperation pays.", choices: CDM, requests: 40000, focus: "chart", runs: true },
    ],
  },
  shadow: {
    title: "Why a shadow is worth a fast program",
    paper: "ShadowGC (DATE 2018)",
    steps: [
      { title: "A buffer in the host, another in the drive", text: "Here the host has a write buffer, and the drive a small one of its own. Both lose their data without power.", choices: SGC, requests: 0, focus: "drives" },
      { title: "A shadow", text: "A page of flash whose newer data waits in a buffer is a shadow: it is still valid, but not for long. It is drawn hatched on orange.", choices: SGC, requests: 4000, focus: "drives" },
      { title: "GC meets shadows", text: "If GC copies a shadow, the copy is soon invalid as well. On the left it cannot know, and copies it like any other.", choices: SGC, requests: 10000, focus: "victims" },
      { title: "Newer data from the drive's buffer (DGC)", text: "If the newer data is in the drive's own buffer, GC writes this data instead of the old one. The buffer need not write it again.", choices: { ...SGC, scheme: "dgc" }, requests: 15000, focus: "victims" },
      { title: "The host's shadows apart (HGC)", text: "If the newer data is in the host, GC moves the old page to a block of shadows. These pages become invalid together, so that the block is cheap to clean.", choices: { ...SGC, scheme: "hgc" }, requests: 15000, focus: "victims" },
      { title: "A fast program", text: "A shadow need not be kept for years, only until the host writes. So it is programmed fast: half the time, and a short retention. The drive refreshes the few that live longer.", choices: { ...SGC, scheme: "hgc" }, requests: 25000, focus: "victims" },
      { title: "Twins", text: "A page may wait in both buffers. The host's data is newer, so the drive's is discarded (SGC): its room serves other pages.", choices: SGC, requests: 25000, focus: "drives" },
      { title: "Together", text: "SGC does all three. Compare its line with those of HGC and DGC: together they save more than the two alone.", choices: SGC, requests: 40000, focus: "chart", runs: true },
    ],
  },
};
