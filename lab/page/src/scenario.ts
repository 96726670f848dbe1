/** The drives of the page as scenarios: small enough to be seen whole. */

/** The choices of the page. The address has them all, and the number of requests served. */
export interface Choices {
  workload: WorkloadName;
  scheme: SchemeName;
  /** Size of the cache, or of the host's buffer, in per cent of the drive. */
  cache: number;
  /** A victim score of the reader; empty without one. */
  score: string;
  seed: number;
}

export const WORKLOADS = {
  random: { title: "random", says: "every page as likely as any other", toml: 'generator = "uniform"' },
  "hot-cold": {
    title: "hot and cold",
    says: "eight of ten requests go to a fifth of the pages",
    toml: 'generator = { name = "hot-cold", zones = [{ traffic = "80%", space = "20%" }, { traffic = "20%", space = "80%" }] }',
  },
  zipf: { title: "a few favourites", says: "a law of popularity, as in many caches", toml: 'generator = { name = "zipf", exponent = 0.9 }' },
  database: { title: "a recorded database", says: "pgbench on PostgreSQL, the requests of some of its pages", toml: "" },
} as const;
export type WorkloadName = keyof typeof WORKLOADS;

/** How the left drive and the right one are made. */
interface Family {
  /** The name of what the slider sets. */
  tier: string;
  left: string;
  leftTitle: string;
  base: (cache: number) => string;
}

const cdm: Family = {
  tier: "cache",
  left: 'cooperation = "none"',
  leftTitle: "GC does not ask",
  base: (cache) => `[cache]\nsize = "${cache}%"\n`,
};
const shadow: Family = {
  tier: "host buffer",
  left: 'cooperation = "none"',
  leftTitle: "GC does not ask",
  base: (cache) =>
    `[cache]\nsize = "2%"\nvolatile = true\nread_allocate = false\n[host_buffer]\nsize = "${cache * BUFFER_KIB_PER_CENT}KiB"\ndirty_age_max = "1000000s"\n`,
};

export const SCHEMES = {
  cdm: { title: "CDM", says: "a page with a cached copy is removable: GC drops it", family: cdm },
  "cdm-consistent": { title: "CDM, crash-consistent", says: "the same, and a power cut finds whole commits", family: cdm },
  "cdm-overwrites": { title: "overwrites known", says: "flash learns at once that the cache holds newer data", family: cdm },
  "cdm-removable": { title: "removable alone", says: "only clean pages are dropped", family: cdm },
  hgc: { title: "HGC (ShadowGC)", says: "pages dirty in the host go to fast blocks: they will be rewritten soon", family: shadow },
  dgc: { title: "DGC (ShadowGC)", says: "GC takes newer data from the device's buffer", family: shadow },
  sgc: { title: "SGC (ShadowGC)", says: "both, and twins are discarded", family: shadow },
} as const satisfies Record<string, { title: string; says: string; family: Family }>;
export type SchemeName = keyof typeof SCHEMES;

export const BLOCKS = 64;
export const PAGES_PER_BLOCK = 64;
/** A per cent of the drive. */
const BUFFER_KIB_PER_CENT = Math.round((BLOCKS * PAGES_PER_BLOCK * 4) / 100);

export const FIRST: Choices = { workload: "hot-cold", scheme: "cdm", cache: 10, score: "", seed: 1 };

/** The drives of the page. */
export type Side = "left" | "right" | "own";

/** Return the scenario of a drive (TOML). */
export function scenario(choices: Choices, side: Side): string {
  const family: Family = SCHEMES[choices.scheme].family;
  const cooperation = side === "left" ? family.left : `cooperation = "${choices.scheme}"`;
  const victim = side === "own" ? `victim = { name = "score", score = ${JSON.stringify(choices.score)} }` : 'victim = "greedy"';
  const isDatabase = choices.workload === "database";
  const workload = isDatabase
    ? '[workload]\ntrace = ["database.csv"]\nremap = "dense"\nrepeat = 1000\n'
    : `[workload.synthetic]\nrequests = 4_000_000_000\nread_share = "30%"\n${WORKLOADS[choices.workload].toml}\n`;
  return `name = "lab"
seed = ${choices.seed}
${cooperation}

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
spare = { share = "15%", definition = "over_provisioning" }

[gc]
low_mark = 2
${victim}

${family.base(choices.cache)}
[precondition]
fill = "random"
random_passes = 1.0

${workload}
[replay]
mode = "closed"
queue_depth = 4
`;
}
