/** What runs in the worker, so that the page never waits: its drives, and the tables of recorded runs. */

import { expose } from "comlink";
import * as drives from "./drives";
import * as flash from "./flash";

const acts = { ...drives, ...flash };
export type Acts = typeof acts;
expose(acts);
