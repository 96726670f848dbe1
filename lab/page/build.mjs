// Builds the page: one file that opens from disk and from any web server. scripts/lab calls it.
// node lab/page/build.mjs PACKAGES OUT [MODULE RECORDS SUITE]: without a module, the page that only shows records.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [packages, out, module, records, suite] = process.argv.slice(2);
const { build } = createRequire(`${resolve(packages)}/`)("esbuild");
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const packed = (file) => file && gzipSync(readFileSync(file), { level: 9 }).toString("base64");
const bundled = async (entry, options) =>
  (await build({ entryPoints: [here(entry)], bundle: true, write: false, target: "es2023", nodePaths: [`${packages}/node_modules`], ...options })).outputFiles[0].text;
const define = { MODULE: JSON.stringify(packed(module) ?? ""), RECORDS: JSON.stringify(packed(records) ?? ""), SUITE: suite ? readFileSync(suite, "utf-8") : "[]" };
// The drives are simulated in a worker: the page never waits for them.
const work = module ? await bundled("src/drives.ts", { minify: true }) : "";
const script = await bundled("src/main.ts", { minify: true, define: { ...define, WORK: JSON.stringify(work) } });
const style = await bundled("lab.css", { minify: true });
const licenses = ["hyparquet", "fzstd", "comlink"].map((name) => `${name}: ${readFileSync(`${packages}/node_modules/${name}/LICENSE`, "utf-8")}`);
const page = readFileSync(here("index.html"), "utf-8")
  .replace("<!-- LICENSES -->", () => `<!-- Contains\n${licenses.join("\n").replaceAll("--", "- -")}-->`)
  .replace("/* STYLE */", () => style)
  .replace("/* SCRIPT */", () => script.replaceAll("</script", "<\\/script"));
mkdirSync(out, { recursive: true });
const file = `${out}/${module ? "index" : "records"}.html`;
writeFileSync(file, page);
if (module) {
  // What tests use.
  for (const part of ["kernel", "scenario", "drive", "scene", "stories", "recording"]) writeFileSync(`${out}/${part}.mjs`, await bundled(`src/${part}.ts`, { format: "esm" }));
  writeFileSync(`${out}/records.bin`, readFileSync(records));
  writeFileSync(`${out}/coflash_lab.wasm`, readFileSync(module));
}
console.log(`${file}: ${(page.length / 1e6).toFixed(2)} MB, ${(gzipSync(page).length / 1e6).toFixed(2)} MB transferred`);
