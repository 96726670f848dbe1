// The drives of the page: step by step as at once, and what the stories say of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST, KEPT, Kept, Kernel, busy, SCENE_MS, SCHEMES, STORIES, WORKLOADS, begin, module, records, scenario, sceneOf, tally } from "./module.mjs";

const all = Object.keys(SCHEMES);

for (const scheme of all) {
  test(`${scheme}: a thousand steps come to what one step of a thousand requests comes to, counter by counter and page by page`, async () => {
    const [steps, once] = [await begin({ ...FIRST, scheme }, "right"), await begin({ ...FIRST, scheme }, "right")];
    for (let served = 0; served < 1000; served++) steps.step(1);
    once.step(1000);
    assert.equal(steps.requests, once.requests);
    assert.deepEqual(steps.numbers(), once.numbers());
    assert.deepEqual(steps.metrics(), once.metrics());
    assert.deepEqual(steps.pages().words, once.pages().words);
    assert.deepEqual(steps.held(), once.held());
    assert.deepEqual(steps.course, once.course);
  });
}

test("any choice makes a drive, and the left one of each family gets the same requests as the right one", async () => {
  for (const scheme of all) {
    for (const workload of Object.keys(WORKLOADS)) {
      for (const cache of [1, 30]) {
        const [left, right] = [await begin({ ...FIRST, scheme, workload, cache }, "left"), await begin({ ...FIRST, scheme, workload, cache }, "right")];
        for (const drive of [left, right]) drive.step(2000);
        // Requests under way are not counted yet.
        assert.ok(Math.abs(left.numbers().host_writes_pages - right.numbers().host_writes_pages) <= 64, `${scheme} ${workload} ${cache}`);
      }
    }
  }
});

test("a score with an error is refused, and the error names what is wrong", async () => {
  await assert.rejects(begin({ ...FIRST, score: "(1 - u) * agee" }, "own"), /agee.*age/s);
});

test("each story has eight steps, and each step has words and a state", () => {
  assert.equal(Object.keys(STORIES).length, 3);
  for (const { steps } of Object.values(STORIES)) {
    assert.equal(steps.length, 8);
    for (const step of steps) assert.ok(step.title && step.text.length > 80 && step.text.length < 400, step.title);
  }
});

/** The two drives of a step of a story. */
const at = async (story, number) => {
  const { choices, requests } = STORIES[story].steps[number - 1];
  const drives = [await begin({ ...FIRST, ...choices }, "left"), await begin({ ...FIRST, ...choices }, "right")];
  for (const drive of drives) if (requests > 0) drive.step(requests);
  return drives;
};
const waf = (drive) => drive.numbers().waf_host;
const response = (drive) => drive.numbers().response_mean_ns;
const kept = (drive, test) => drive.pages().words.filter(test).length;
const isNewer = (word) => (word & 15) === 10;
const isTold = (word) => (word & 3) === 3;
const isMarked = (word) => (word & 3) === 2 && (word & 0x30) !== 0;

test("what the story of removable pages says is so", async () => {
  const [left, right] = await at("removable", 4);
  assert.ok(kept(left, isNewer) > 100 && kept(left, isMarked) === 0, "left: newer data in the cache, of which GC knows nothing");
  assert.ok(kept(right, isNewer) === 0 && kept(right, isMarked) > 20, "right: only the same data, and GC knows it");
  const { gc_drops_pages: drops, drop_rewrites_pages: rewrites } = (await at("removable", 6))[1].metrics();
  assert.ok(drops > 500 && rewrites > drops / 2, "most drops come back");
  const [empty, told] = await at("removable", 2);
  for (const drive of [empty, told]) {
    const { programs_pages, gc_copies_pages } = drive.numbers();
    assert.ok(programs_pages > 0 && gc_copies_pages === 0 && drive.held().length > 300, "the cache is full, pages go to flash, and nothing is copied yet");
  }
  const [none, overwrites] = await at("removable", 7);
  const [, both] = await at("removable", 6);
  assert.equal(overwrites.metrics().gc_drops_pages, 0);
  assert.ok(waf(none) - waf(overwrites) > 0.9 * (waf(none) - waf(both)), "nearly all of the gain is left");
  const copies = await saved("hot-cold", "gc_copies_pages");
  assert.deepEqual([copies("cdm"), copies("cdm-overwrites")], [49, 45]);
  const reads = await saved("reads", "programs_pages");
  assert.deepEqual([reads("cdm"), reads("cdm-overwrites")], [18, 13]);
  assert.ok(reads("expected-cost") > reads("cdm"), "the cheapest answer saves more");
});

/** By how many per cent the right drive has less of a number than the left one, after 40,000 requests. */
const saved = async (workload, name) => {
  const run = async (scheme, side) => {
    const drive = await begin({ ...FIRST, workload, scheme }, side);
    drive.step(40_000);
    return drive.numbers()[name];
  };
  const left = await run("cdm", "left");
  const right = {};
  for (const scheme of ["cdm", "cdm-overwrites", "expected-cost"]) right[scheme] = await run(scheme, "right");
  return (scheme) => Math.round((100 * (left - right[scheme])) / left);
};

test("scenes are what GC did: the copies that it counts, those in vain, and what it was told early", async () => {
  for (const [scheme, side] of [["cdm", "left"], ["cdm", "right"], ["sgc", "right"], ["op-fcl", "right"]]) {
    const kernel = await Kernel.of(module, records, scenario({ ...FIRST, scheme }, side));
    kernel.advance(20_000);
    kernel.victims();
    let [copied, inVain, early] = [0, 0, 0];
    for (let turns = 0; turns < 20; ) {
      const [before, { words, perBlock }] = [kernel.numbers(), kernel.pages()];
      kernel.advance(1);
      const [victims, held, now] = [kernel.victims(), kernel.held(), kernel.numbers()];
      if (victims.length === 0) continue;
      turns += 1;
      const scenes = victims.map((victim) => sceneOf(victim, words.subarray(victim.block * perBlock, (victim.block + 1) * perBlock), held));
      const sum = (name) => scenes.reduce((all, scene) => all + tally(scene, SCENE_MS)[name], 0);
      assert.equal(sum("copied"), now.gc_copies_pages - before.gc_copies_pages, scheme);
      assert.equal(sum("wasted"), now.wasted_pages - before.wasted_pages, scheme);
      copied += sum("copied");
      inVain += sum("wasted");
      const told = scenes.flatMap(({ pages }) => pages).filter(({ fate }) => fate === "spared");
      assert.ok(told.every(({ slot, lpn }) => held[slot] >>> 8 === lpn && (held[slot] & 8) !== 0), "the cache has newer data of each");
      early += told.length;
    }
    // On the right a page may be written in the very request in which GC has copied it.
    if (scheme === "cdm") assert.deepEqual([inVain > 0.05 * copied, inVain < 0.005 * copied, early > 0], [side === "left", side === "right", side === "right"]);
  }
});

test("the room that cleanings free is what all but copies takes: bars of a cleaning and of cleanings multiply to it", async () => {
  for (const scheme of ["cdm", "cdm-overwrites", "sgc"]) {
    for (const side of ["left", "right"]) {
      const drive = await begin({ ...FIRST, scheme }, side);
      drive.step(10_000);
      const { programs_pages: programs, gc_copies_pages: copies, victims } = drive.numbers();
      const room = victims * drive.pages().perBlock - copies;
      assert.ok(Math.abs(programs - copies - room) < 0.02 * room, `${scheme} ${side}: ${programs - copies} and ${room}`);
    }
  }
});

test("what the story of shadows says is so", async () => {
  const [left, right] = await at("shadow", 2);
  assert.ok(kept(left, isNewer) > 300 && kept(left, isMarked) === 0);
  assert.ok(kept(right, isNewer) > 300 && kept(right, isMarked) > 300);
  const [none, dgc] = await at("shadow", 4);
  assert.ok(dgc.metrics().shadows.from_buffer_pages > 500 && waf(dgc) < 0.9 * waf(none));
  const [plain, hgc] = await at("shadow", 6);
  assert.ok(hgc.metrics().shadows.fast_pages > 5000);
  const copies = (drive) => drive.metrics().gc_copies_pages;
  assert.ok(response(hgc) / response(plain) < copies(hgc) / copies(plain), "responses fall by more than copies");
  assert.ok((await at("shadow", 7))[1].metrics().shadows.discarded_twins_pages > 500);
  const [base, sgc] = await at("shadow", 8);
  const alone = async (scheme) => {
    const drive = await begin({ ...FIRST, scheme }, "right");
    drive.step(40_000);
    return waf(base) - waf(drive);
  };
  const [hgcAlone, dgcAlone, all] = [await alone("hgc"), await alone("dgc"), waf(base) - waf(sgc)];
  assert.ok(all > hgcAlone + dgcAlone, "more than both");
  assert.deepEqual([all, hgcAlone, dgcAlone].map((less) => Math.round((100 * less) / waf(base))), [39, 12, 16]);
});

test("what the story of the flash cache says is so", async () => {
  for (const drive of await at("less", 1)) assert.ok(kept(drive, (byte) => (byte & 3) !== 0) === 0, "empty");
  const [early, right] = await at("less", 3);
  assert.ok(response(early) < response(right), "at first, more is faster");
  const [full, ahead] = await at("less", 4);
  assert.ok(response(ahead) < response(full) && full.lastVictim.pages.length > 50);
  const [room, less] = await at("less", 5);
  assert.ok(less.lastVictim.pages.length < room.lastVictim.pages.length - 10);
  const [more, fewer] = (await at("less", 6)).map((drive) => drive.metrics().cache.hit_ratio);
  assert.ok(more - fewer > 0.01 && more - fewer < 0.05, "a few requests in a hundred");
  const [byHand, measured] = await at("less", 8);
  assert.ok(response(measured) < response(byHand) && response(byHand) < 1.15 * response(measured), "nearly as fast");
});

test("of a served device the newest operations are kept, and a power cut ends what was under way", async () => {
  const kept = new Kept();
  const piece = (from, rows) => ({
    start: Float64Array.from({ length: rows }, (_, at) => from + at), end: Float64Array.from({ length: rows }, (_, at) => from + at + 1000),
    what: new Uint8Array(rows), asked: new Uint8Array(rows), block: new Uint32Array(rows), blocks: 8, dies: 2,
  });
  kept.goOn("0001");
  for (let at = 0; at < 5; at++) kept.add(piece(at * 262_144, 262_144));
  const { start, end } = kept.operations();
  assert.ok(start.length > KEPT / 2 && start.length <= KEPT, "memory is bounded");
  const cut = 5 * 262_144 - 1;
  assert.deepEqual([start.at(-1), end.at(-1)], [cut, cut + 1000]);
  assert.ok(start.every((time, row) => row === 0 || time === start[row - 1] + 1), "none is missing between");
  kept.goOn("0002");
  kept.add(piece(7, 1));
  kept.addVictims({ time: Float64Array.of(8), valid: Uint32Array.of(3), removable: Uint32Array.of(1) });
  assert.deepEqual(kept.cuts, [cut]);
  assert.equal(kept.operations().end.at(-2), cut);
  assert.deepEqual([kept.operations().start.at(-1), kept.victims.time.at(-1)], [cut + 7, cut + 8]);
});

test("a strip shows of each die what it was busy with, and not what waited for it", () => {
  const [GC, ERASED] = [2, 7];
  const operations = {
    // On the first die an erase waits for a copy; the second die has one that goes on beyond the end.
    start: Float64Array.of(0, 0, 30), end: Float64Array.of(20, 40, 60), what: Uint8Array.of(GC, ERASED, GC), asked: new Uint8Array(3), block: Uint32Array.of(0, 1, 4), blocks: 8, dies: 2,
  };
  const shares = busy(operations, 0, 40, 4);
  const die = (number, what) => [0, 1, 2, 3].map((column) => shares[number][column][what]);
  assert.deepEqual([die(0, GC), die(0, ERASED)], [[1, 1, 0, 0], [0, 0, 1, 1]]);
  assert.deepEqual([die(1, GC), die(1, ERASED)], [[0, 0, 0, 1], [0, 0, 0, 0]]);
  assert.equal(shares.flat(2).reduce((sum, share) => sum + share, 0), 5);
});
