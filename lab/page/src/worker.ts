/** The worker of the drives, as the page sees it. */

import { wrap } from "comlink";
import type { Acts } from "./drives";

declare const WORK: string;

export const worker = wrap<Acts>(new Worker(URL.createObjectURL(new Blob([WORK], { type: "text/javascript" }))));
