// What a worker under test notes of each delivery, and when a run is over: ../rust/deliveries says more, and does the same.

const WARMING = 20;
const QUIET_MICROS = 1_000_000;
const TICK_MS = 1;
export const PAUSE_MS = 12;
export const NOTE = 'alpha@example.org to omega@example.org, 42 EUR, a note';

export const nowMicros = () => (performance.timeOrigin + performance.now()) * 1e3;
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const print = (report) => console.log(JSON.stringify(report));
export const job = (number) => ({ number, sent: Math.round(nowMicros()), note: NOTE });

export class Deliveries {
  #times;
  #latencies;
  #unknown = 0;
  #delivered = 0;
  #first = 0;
  #last = 0;

  constructor(jobs) {
    this.#times = new Uint8Array(jobs);
    this.#latencies = new Float64Array(jobs);
  }

  note({ number, sent }) {
    const now = nowMicros();
    if (number < this.#times.length) {
      this.#times[number] += 1;
      this.#latencies[number] = now - sent;
    } else {
      this.#unknown += 1;
    }
    if (this.#delivered === 0) this.#first = now;
    this.#delivered += 1;
    this.#last = now;
  }

  // Resolves when every job was delivered, or none is for a second, and the store holds none. `left` asks the store.
  async over(left) {
    for (;;) {
      if (this.#delivered >= this.#times.length - 1 || this.#quiet()) {
        const empty = (await left()) === 0;
        if (empty && (this.#delivered >= this.#times.length || this.#quiet())) return;
      }
      await sleep(TICK_MS);
    }
  }

  #quiet() {
    return this.#last > 0 && nowMicros() - this.#last > QUIET_MICROS;
  }

  report() {
    const seconds = (nowMicros() - this.#first) / 1e6;
    const latencies = this.#latencies.slice(WARMING).sort();
    const at = (share) => (latencies[Math.floor(latencies.length * share)] ?? 0) / 1e3;
    return {
      delivered: this.#delivered,
      missing: this.#times.filter((times) => times === 0).length,
      repeated: this.#times.filter((times) => times > 1).length,
      unknown: this.#unknown,
      seconds,
      p50_ms: at(0.5),
      p99_ms: at(0.99),
    };
  }
}
