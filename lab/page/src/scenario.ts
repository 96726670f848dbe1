/** The drives of the page as scenarios: small enough to be seen whole. */

import type { Measure } from "./drive";
import words from "./words.json";

/** The choices of the page. The address has them all, and the number of requests served. */
export interface Choices {
  workload: WorkloadName;
  scheme: SchemeName;
  /** Size of the cache or of the host's buffer, or space left to GC, in per cent of the drive. */
  cache: number;
  /** A victim score of the reader; empty without one. */
  score: string;
  seed: number;
}

/** The workloads: their names and words, and their generators (TOML). */
export const WORKLOADS = words.workloads;
export type WorkloadName = keyof typeof WORKLOADS;

/** The share of a generated workload's requests that read. */
export const readShare = (workload: WorkloadName): string => (workload === "reads" ? "90%" : "30%");

/** How the page speaks of the drives of a family: its question, what the slider sets, the left drive, what a reader needs to know who
 * has never heard of it; what is said of a valid page, and of one whose data another tier holds, or holds in a newer version, of one
 * that is waste by early knowledge, and of what GC knows (empty where there is none of it); the tier below the blocks (empty if it is
 * not drawn); and the counters with their paths in the metrics. */
type Words = Omit<(typeof words.families)["cdm"], "chart" | "rows"> & { chart: Measure; rows: readonly (readonly [string, string])[] };
const WORDS = words.families as unknown as Record<keyof typeof words.families, Words>;

/** The drives of a family of schemes, and its words. */
interface Family extends Words {
  /** The left drive's own scheme. */
  scheme: (slider: number) => string;
  /** Where the name of the right drive's scheme goes. */
  named: (scheme: string, slider: number) => string;
  spare: string;
  rest: string;
  /** Space of the generated workloads; that of the drive without one. */
  space: string;
}

const FILLED = '[precondition]\nfill = "random"\nrandom_passes = 1.0\n';
const cooperates = (scheme: string): string => `cooperation = "${scheme}"`;

const cdm: Family = {
  ...WORDS.cdm,
  scheme: (cache) => `cooperation = "none"\n[cache]\nsize = "${cache}%"\n`,
  named: (scheme, cache) => `${cooperates(scheme)}\n[cache]\nsize = "${cache}%"\n`,
  spare: '{ share = "15%", definition = "over_provisioning" }',
  rest: FILLED,
  space: "",
};
const buffers = (cache: number): string =>
  `[cache]\nsize = "2%"\nvolatile = true\nread_allocate = false\n[host_buffer]\nsize = "${cache * BUFFER_KIB_PER_CENT}KiB"\ndirty_age_max = "1000000s"\n`;
const shadow: Family = {
  ...cdm,
  ...WORDS.shadow,
  scheme: (cache) => `cooperation = "none"\n${buffers(cache)}`,
  named: (scheme, cache) => `${cooperates(scheme)}\n${buffers(cache)}`,
};
const hybrid: Family = {
  ...WORDS.hybrid,
  scheme: (left) => `[hybrid]\nscheme = { name = "fp-fcl", caching = "${100 - left}%" }\n${DISK}`,
  named: (scheme) => `[hybrid]\nscheme = "${scheme}"\n${DISK}`,
  spare: '{ share = "8%", definition = "spare_of_physical" }\nsummary = "on"\nshared_streams = [["host", "evict", "gc"]]',
  rest: '[precondition]\nfill = "none"\n',
  space: '\nspace = "24MiB"',
};
const DISK = `segment = "256KiB"
period_requests = 1000

[hybrid.disks]
count = 1
placement = "volumes"
model = { name = "constant", capacity = "24MiB" }
`;

/** The schemes of the right drive: their names and words, and their families. */
export const SCHEMES = Object.fromEntries(
  Object.entries(words.schemes).map(([name, { family, ...own }]) => [name, { ...own, family: { cdm, shadow, hybrid }[family]! }]),
) as Record<SchemeName, { title: string; says: string; family: Family }>;
export type SchemeName = keyof typeof words.schemes;

/** The name under which a scenario has the recorded database. */
export const DATABASE = "database.csv";
export const BLOCKS = 64;
export const PAGES_PER_BLOCK = 64;
/** A per cent of the drive. */
const BUFFER_KIB_PER_CENT = Math.round((BLOCKS * PAGES_PER_BLOCK * 4) / 100);

export const FIRST: Choices = { workload: "hot-cold", scheme: "cdm", cache: 10, score: "", seed: 1 };

/** The page opens where GC has been at work for a while. */
export const FIRST_REQUESTS = 6000;

/** The drives of the page. */
export type Side = "left" | "right" | "own";

/** Return the scenario of a drive (TOML); with more requests than a reader waits for, or with as many as given. */
export function scenario(choices: Choices, side: Side, requests = 4_000_000_000): string {
  const { family } = SCHEMES[choices.scheme];
  const scheme = side === "left" ? family.scheme(choices.cache) : family.named(choices.scheme, choices.cache);
  const victim = side === "own" ? `victim = { name = "score", score = ${JSON.stringify(choices.score)} }` : 'victim = "greedy"';
  const isDatabase = choices.workload === "database";
  const workload = isDatabase
    ? `[workload]\ntrace = ["${DATABASE}"]\nremap = "dense"\nrepeat = 1_000_000\nrequests_max = ${requests}\n`
    : `[workload.synthetic]\nrequests = ${requests}\nread_share = "${readShare(choices.workload)}"${family.space}\n${WORKLOADS[choices.workload].toml}\n`;
  return `name = "lab"
seed = ${choices.seed}
${scheme}
[flash]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = ${BLOCKS}
pages_per_block = ${PAGES_PER_BLOCK}
page_size = "4KiB"

[timing]
page_program_fast = "100us"
channel = "private"

[ftl]
spare = ${family.spare}

[gc]
low_mark = 2
${victim}

${family.rest}
${workload}
[replay]
mode = "closed"
queue_depth = 4
`;
}

/** Return a program in Python that runs a drive natively, and compares every number with those of the page. */
export function check(choices: Choices, side: Side, requests: number, metrics: object): string {
  const before = choices.workload === "database" ? "# in a source tree: python scripts/lab_records.py records.bin --csv database.csv\n" : "";
  return `${before}import coflash

scenario = coflash.Scenario.from_toml("""
${scenario(choices, side, requests)}""")
page = {
${[...numbers(metrics)].map(([path, value]) => `    "${path}": ${value},`).join("\n")}
}
native = coflash.run(scenario).metrics.flat()
others = {name: (value, native.get(name)) for name, value in page.items() if native.get(name) != value}
print(others or f"equal: {len(page)} numbers after {native['requests']} requests")
`;
}

/** Yield the numbers of metrics by their paths. */
function* numbers(metrics: object, path = ""): Generator<[string, number]> {
  for (const [name, value] of Object.entries(metrics)) {
    if (typeof value === "number") yield [path + name, value];
    else if (value !== null && typeof value === "object" && !Array.isArray(value)) yield* numbers(value as object, `${path}${name}.`);
  }
}
