"""What a worker under test notes of each delivery, and when a run is over: ../rust/deliveries says more, and does the same.

It counts in memory that child processes share. A job is noted in the process that runs it."""

import json
import multiprocessing
import sys
import time

WARMING = 20
QUIET_SECONDS = 1
TICK_SECONDS = 0.002
PAUSE_SECONDS = 0.012
NOTE = "alpha@example.org to omega@example.org, 42 EUR, a note"


def say(**report):
    print(json.dumps(report), flush=True)


def job(number):
    return {"number": number, "sent": time.time(), "note": NOTE}


def client(bulk, single):
    """Carries out `bulk`, `single` or `idle` by functions that take a number of jobs, and one job."""
    verb, jobs = sys.argv[1], int(sys.argv[3])
    began = time.perf_counter()
    if verb == "bulk":
        bulk(jobs)
    else:
        for number in range(jobs):
            if verb == "idle":
                time.sleep(PAUSE_SECONDS)
            single(job(number))
    say(submitted=jobs, seconds=time.perf_counter() - began)


class Deliveries:
    def __init__(self, jobs):
        self.jobs = jobs
        self.times = multiprocessing.RawArray("B", jobs)
        self.latencies = multiprocessing.RawArray("d", jobs)
        # Each process has a row of its own and takes it at its first job: first delivery, last delivery, deliveries, unknown.
        self.rows = [multiprocessing.RawArray("d", 4) for _ in range(16)]
        self.taken = multiprocessing.Value("i", 0)
        self.mine = None

    def note(self, job):
        now = time.time()
        if self.mine is None:
            with self.taken.get_lock():
                self.mine = self.rows[self.taken.value]
                self.taken.value += 1
            self.mine[0] = now
        if job["number"] < self.jobs:
            self.times[job["number"]] += 1
            self.latencies[job["number"]] = now - job["sent"]
        else:
            self.mine[3] += 1
        self.mine[1] = now
        self.mine[2] += 1

    def wait(self, left):
        """Returns when every job was delivered, or none is for a second, and the store holds none. `left` asks the store."""
        while True:
            if self._delivered() >= self.jobs - 1 or self._quiet():
                if left() == 0 and (self._delivered() >= self.jobs or self._quiet()):
                    return
            time.sleep(TICK_SECONDS)

    def _delivered(self):
        return sum(int(row[2]) for row in self.rows)

    def _quiet(self):
        last = max(row[1] for row in self.rows)
        return last > 0 and time.time() - last > QUIET_SECONDS

    def report(self):
        seconds = time.time() - min(row[0] for row in self.rows if row[0] > 0)
        times, latencies = bytes(self.times), sorted(self.latencies[WARMING:])

        def at(share):
            return latencies[int(len(latencies) * share)] * 1e3 if latencies else 0

        say(delivered=self._delivered(), missing=times.count(0), repeated=sum(count > 1 for count in times),
            unknown=sum(int(row[3]) for row in self.rows), seconds=seconds, p50_ms=at(0.5), p99_ms=at(0.99))


# For a worker that finds its function by a module's name.
current = None


def noop(delivered):
    current.note(delivered)
