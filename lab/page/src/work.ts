/** What runs in the worker, so that the page never waits: the tables of recorded runs. */

import { expose } from "comlink";
import * as flash from "./flash";

expose(flash);
