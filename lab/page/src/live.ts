/** A device that is being served: what its flash does comes as it happens, and the timeline grows. */

import { type Tile, tellNumbers } from "./dashboard";
import { takePart } from "./flash";
import { $, number } from "./page";
import { grow } from "./timeline";

/** What the server tells: a part of a session, as the files of a recorded run, in base64; clients; news, such as a power cut; and
 * once a second the numbers. */
interface Told {
  session: string;
  operations: string;
  decisions: string;
  left_out: number;
  clients: number;
  told: string[];
  numbers: Tile[];
}

const NEWS_MAX = 20;
/** Between two questions to the server. */
const POLL_MS = 250;
let leftOut = 0;
/** The last part that came, and how many did not: the page was too slow. */
let [last, missed] = [0, 0];

/** Return the name of the device that an address asks for; null if it asks for none. */
export const servedDevice = (hash: string): string | null => new URLSearchParams(hash.replace(/^#/, "")).get("live");

/** Show recorded runs, and nothing else: no kernel is needed. */
export function showRecords(title = "What flash did in a recorded run"): void {
  document.body.classList.add("records");
  document.title = $("#question").textContent = title;
  $<HTMLDetailsElement>("#recorded-run").open = true;
}

/** Show what a device does, and nothing else. */
export function watchDevice(name: string): void {
  showRecords(`${name}: flash at work`);
  document.body.classList.add("live");
  $("#live").hidden = false;
  void watch();
}

/** Ask for what is new, again and again: when all is shown that came before. */
async function watch(): Promise<void> {
  try {
    const answer = await fetch(`operations?after=${last}`);
    for (const [part, told] of (await answer.json()) as [number, Told][]) {
      if (last > 0) missed += Math.max(0, part - last - 1);
      last = part;
      await take(told);
    }
  } catch {
    say("The device is not served any more, or its server does not answer. What has come stays.");
  }
  setTimeout(() => void watch(), POLL_MS);
}

async function take({ session, operations, decisions, left_out, clients, told, numbers }: Told): Promise<void> {
  const range = await takePart(session, [operations, decisions].filter(Boolean));
  if (operations && range) grow(range);
  if (numbers.length > 0) tellNumbers(numbers);
  leftOut += left_out;
  const gone = `${leftOut > 0 ? ` ${number(leftOut)} came too fast and are left out.` : ""}${missed > 0 ? ` ${number(missed)} parts came too fast for this page.` : ""}`;
  say(`${clients === 1 ? "1 client is" : `${number(clients)} clients are`} connected. The newest million operations of flash are kept.${gone}`);
  for (const text of told) {
    const line = document.createElement("li");
    line.textContent = `${new Date().toLocaleTimeString("en-GB")} ${text}`;
    $("#news").prepend(line);
    $("#news").children[NEWS_MAX]?.remove();
  }
}

/** Say it once: it is read aloud. */
function say(text: string): void {
  if ($("#live-state").textContent !== text) $("#live-state").textContent = text;
}
