// BullMQ. Its worker is faster with 100 jobs at once than with 50, and when it keeps no finished jobs.

import { Queue, Worker } from 'bullmq';
import { Deliveries, PAUSE_MS, job, print, sleep } from './deliveries.mjs';

const BATCH = 1_000;
const CONCURRENCY = 100;
const [verb, store, count] = process.argv.slice(2);
const jobs = Number(count);
const { hostname, port } = new URL(store);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
const queue = new Queue('bench', { connection, defaultJobOptions: { removeOnComplete: true } });
await queue.waitUntilReady();

async function submitInBulk() {
  const began = performance.now();
  for (let first = 0; first < jobs; first += BATCH) {
    const size = Math.min(BATCH, jobs - first);
    await queue.addBulk(Array.from({ length: size }, (_, at) => ({ name: 'noop', data: job(first + at) })));
  }
  print({ submitted: jobs, seconds: (performance.now() - began) / 1e3 });
}

async function submitOneByOne(pauseMs) {
  const began = performance.now();
  for (let number = 0; number < jobs; number += 1) {
    if (pauseMs > 0) await sleep(pauseMs);
    await queue.add('noop', job(number));
  }
  print({ submitted: jobs, seconds: (performance.now() - began) / 1e3 });
}

async function work() {
  const deliveries = new Deliveries(jobs);
  const worker = new Worker('bench', async ({ data }) => deliveries.note(data), { connection, concurrency: CONCURRENCY });
  worker.on('error', (error) => { throw error; });
  await worker.waitUntilReady();
  print({ ready: true });
  await deliveries.over(async () => {
    const counts = await queue.getJobCounts('wait', 'active', 'prioritized', 'delayed', 'failed');
    return Object.values(counts).reduce((sum, one) => sum + one, 0);
  });
  print(deliveries.report());
}

const verbs = { bulk: submitInBulk, single: () => submitOneByOne(0), idle: () => submitOneByOne(PAUSE_MS), work };
await verbs[verb]();
process.exit(0);
