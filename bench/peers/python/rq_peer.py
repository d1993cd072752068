"""RQ on Redis: two processes with a SimpleWorker, which runs jobs without a fork for each."""

import multiprocessing
import os
import sys

import deliveries
from redis import Redis
from rq import Queue, SimpleWorker
from rq.registry import StartedJobRegistry

PROCESSES = 2
BATCH = 500
verb, store, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3])
queue = Queue("bench", connection=Redis.from_url(store))


def serve():
    connection = Redis.from_url(store)
    SimpleWorker([Queue("bench", connection=connection)], connection=connection).work(logging_level="ERROR")


def work():
    deliveries.current = deliveries.Deliveries(jobs)
    for _ in range(PROCESSES):
        multiprocessing.get_context("fork").Process(target=serve).start()
    deliveries.say(ready=True)
    started = StartedJobRegistry(queue=queue)
    deliveries.current.wait(lambda: queue.count + started.get_job_count(cleanup=False))
    deliveries.current.report()
    # Its processes are in our process group, which the driver ends.
    os._exit(0)


def bulk(count):
    for first in range(0, count, BATCH):
        batch = range(first, min(first + BATCH, count))
        queue.enqueue_many([Queue.prepare_data("deliveries.noop", (deliveries.job(number),)) for number in batch])


if verb == "work":
    work()
else:
    deliveries.client(bulk, lambda job: queue.enqueue("deliveries.noop", job))
