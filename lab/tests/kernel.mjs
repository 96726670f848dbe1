// An instance of the kernel, as the page uses it.

const FAILED = 0xffffffff;

/** A run in an instance of the module of its own. */
export class Kernel {
  /** Make an instance of a compiled module. */
  static async of(module) {
    const instance = await WebAssembly.instantiate(module, {});
    return new Kernel(instance.exports);
  }

  constructor(exports) {
    this.exports = exports;
  }

  #put(bytes) {
    const place = this.exports.input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, place, bytes.length).set(bytes);
  }

  /** The last output, without a copy: it is overwritten by the next call. */
  output() {
    return new Uint8Array(this.exports.memory.buffer, this.exports.output(), this.exports.output_length());
  }

  #text() {
    return new TextDecoder().decode(this.output());
  }

  #checked(answer) {
    if (answer >>> 0 === FAILED) throw new Error(this.#text());
    return answer >>> 0;
  }

  bring(records) {
    this.#put(records);
    this.#checked(this.exports.bring_records());
  }

  begin(scenario) {
    this.#put(new TextEncoder().encode(scenario));
    this.#checked(this.exports.begin());
  }

  step(requests) {
    return this.#checked(this.exports.step(requests));
  }

  stepToVictim(requests) {
    return this.#checked(this.exports.step_to_victim(requests));
  }

  counters() {
    this.#checked(this.exports.counters());
    return JSON.parse(this.#text());
  }

  finish() {
    this.#checked(this.exports.finish());
    return JSON.parse(this.#text());
  }
}
