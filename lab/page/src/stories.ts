/** The guided stories: one for each paper. Each step is a state of the page that the reader can take over. */

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
const FCL: Partial<Choices> = { workload: "hot-cold", scheme: "op-fcl", cache: 5, score: "", seed: 1 };
const SGC: Partial<Choices> = { workload: "hot-cold", scheme: "sgc", cache: 10, score: "", seed: 1 };

export const STORIES: Record<string, Story> = {
  removable: {
    title: "What a removable page is, and why it may come back",
    paper: "CDM (MSST 2016)",
    steps: [
      { title: "Two drives, one stream of requests", text: "Each large square is a block of flash, each small one a page of 4 KiB. Both drives get the same requests in the same order, and both have a cache that keeps its data without power. So far nothing differs.", choices: CDM, requests: 0, focus: "drives" },
      { title: "Flash cannot overwrite", text: "Data that is written again goes to an empty page, and the old page is waste: grey. A single page cannot be emptied, only a whole block can be erased.", choices: CDM, requests: 400, focus: "drives" },
      { title: "Garbage collection", text: "When empty blocks run out, the drive takes the block with the fewest valid pages, the victim. It copies these pages elsewhere and erases the block. The arrows are the copies: writes that nobody asked for.", choices: CDM, requests: 2000, focus: "victims" },
      { title: "The cache holds some of them", text: "Green and orange pages are in the cache as well: green the same data, orange newer data. The left drive copies them all the same. On the right there is no orange: flash has been told, and those pages are waste already.", choices: CDM, requests: 6000, focus: "drives" },
      { title: "Removable", text: "A hatched page is removable: the cache has the same data, and GC knows it. GC drops it where it would have copied it. In the victim on the right its place becomes empty, without an arrow.", choices: CDM, requests: 12000, focus: "victims" },
      { title: "It may come back", text: "The cache has the only copy now. When it needs the room, it must write the page to flash again. So a drop is a copy put off; it is saved only if the page is overwritten first. The counters show how many drops were written later: most of them.", choices: CDM, requests: 20000, focus: "victims" },
      { title: "Overwritten in the cache", text: "Here the right drive drops nothing. It only hears at once that a page was overwritten in the cache, so that the page in flash is waste. Nearly all of the gain is left: the paper joins two effects, and this is the larger one.", choices: { ...CDM, scheme: "cdm-overwrites" }, requests: 20000, focus: "chart", runs: true },
      { title: "What it comes to", text: "Each line is write amplification: how many pages of flash are written for each page that the host writes. Most of them are copies by GC. Move the slider: a larger cache helps both drives, and the right one more.", choices: CDM, requests: 40000, focus: "chart", runs: true },
    ],
  },
  shadow: {
    title: "Why a shadow is worth a fast program",
    paper: "ShadowGC (DATE 2018)",
    steps: [
      { title: "A buffer in the host, another in the drive", text: "Now the host has a write buffer, and the drive a small one of its own. A page that is written waits there for a while. Without power both buffers lose their data.", choices: SGC, requests: 0, focus: "drives" },
      { title: "A shadow", text: "An orange page of flash is a shadow: it is still valid, but newer data waits in a buffer and will replace it. On the right the shadows are hatched: the host has told the drive.", choices: SGC, requests: 4000, focus: "drives" },
      { title: "GC meets shadows", text: "A copy of a shadow is waste as soon as the buffer is written. The left drive cannot know, and copies shadows like any other page.", choices: SGC, requests: 10000, focus: "victims" },
      { title: "Newer data from the drive's buffer (DGC)", text: "Here the right drive knows its own buffer only. Where the newer data is there, GC writes that in place of the old data. The copy stays valid, and the buffer need not write it once more.", choices: { ...SGC, scheme: "dgc" }, requests: 15000, focus: "victims" },
      { title: "The host's shadows apart (HGC)", text: "Here the right drive knows the host's buffer only. It cannot take data from there, so GC moves these shadows to blocks of their own. They become waste together, and such a block is cheap to clean.", choices: { ...SGC, scheme: "hgc" }, requests: 15000, focus: "victims" },
      { title: "A fast program", text: "A shadow need not last for years, only until the host writes. So it is programmed in half the time, and would lose its data sooner. Compare the mean response times: they fall by more than the copies do.", choices: { ...SGC, scheme: "hgc" }, requests: 25000, focus: "victims" },
      { title: "Twins", text: "A page may wait in both buffers. The host's data is newer, so the drive's twin will never be needed: SGC discards it, and its room serves other pages.", choices: SGC, requests: 25000, focus: "drives" },
      { title: "Together", text: "SGC does all three. In this run it saves more than HGC and DGC do together: each makes the work of the other easier. Choose them under “Right drive” to compare.", choices: SGC, requests: 40000, focus: "chart", runs: true },
    ],
  },
  less: {
    title: "Why a cache that caches less can be faster",
    paper: "OP-FCL (FAST 2012)",
    steps: [
      { title: "Flash before a disk", text: "Both drives are a flash cache before a slow disk. A page that is in flash takes a fraction of a millisecond, one that is not takes the disk about five. Both are empty as yet.", choices: FCL, requests: 0, focus: "drives" },
      { title: "It fills", text: "A page that is read or written is kept in flash. Blue pages are newer than the disk's, green ones are the same. Old versions are waste, as in any flash.", choices: FCL, requests: 3000, focus: "drives" },
      { title: "At first, more is faster", text: "The left drive caches all that fits into flash. The right one caches less and asks the disk more often. So far the left one is faster.", choices: FCL, requests: 12000, focus: "chart" },
      { title: "Full", text: "Now the left drive is full. A victim of GC holds hardly any waste: nearly all of its pages are copied, to win room for a few. Requests wait meanwhile, and the right drive is ahead.", choices: FCL, requests: 18000, focus: "victims" },
      { title: "Room", text: "The right drive keeps less in flash, so its blocks hold more waste. Its victims cost fewer copies and free more pages.", choices: FCL, requests: 30000, focus: "victims" },
      { title: "What is lost", text: "Look at “found in flash”: caching less costs the right drive a few requests in a hundred, which the disk must serve. What it saves in GC is worth more.", choices: FCL, requests: 40000, focus: "victims" },
      { title: "How it decides", text: "After every 1,000 requests OP-FCL estimates for each size of the cache how often the disk would be asked, and how much GC would copy. It takes the size with the smallest sum, and follows the workload.", choices: FCL, requests: 40000, focus: "chart", runs: true },
      { title: "Not always, but measured", text: "Leave 20 % to GC by hand, and the left drive is nearly as fast. But another workload has another best size: choose one above. Write amplification alone does not tell: a disk access costs more than many copies, so the response time is what counts.", choices: { ...FCL, cache: 20 }, requests: 40000, focus: "chart", runs: true },
    ],
  },
};
