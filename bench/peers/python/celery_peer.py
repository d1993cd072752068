"""Celery on Redis: two processes with the pool `solo`, which together are faster than any one process with another pool."""

import multiprocessing
import os
import sys
import time

from deliveries import Deliveries, client, job, say

from celery import Celery
from celery.signals import worker_ready

PROCESSES = 2
QUEUE = "celery"
verb, store, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3])
app = Celery("bench", broker=store)
app.conf.update(task_ignore_result=True, worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)
deliveries = Deliveries(jobs if verb == "work" else 0)
ready = multiprocessing.Value("i", 0)


@app.task(name="noop")
def noop(delivered):
    deliveries.note(delivered)


@worker_ready.connect
def count_ready(**_):
    with ready.get_lock():
        ready.value += 1


def serve(name):
    worker = app.Worker(pool="solo", hostname=name, loglevel="ERROR", quiet=True, without_gossip=True, without_mingle=True)
    worker.start()


def left(redis):
    return redis.llen(QUEUE) + redis.hlen("unacked")


def work():
    import redis
    for number in range(PROCESSES):
        multiprocessing.get_context("fork").Process(target=serve, args=(f"bench{number}@localhost",)).start()
    while ready.value < PROCESSES:
        time.sleep(0.01)
    say(ready=True)
    connection = redis.Redis.from_url(store)
    deliveries.wait(lambda: left(connection))
    deliveries.report()
    # Its processes are in our process group, which the driver ends.
    os._exit(0)


def bulk(count):
    with app.producer_pool.acquire(block=True) as producer:
        for number in range(count):
            noop.apply_async((job(number),), producer=producer)


if verb == "work":
    work()
else:
    client(bulk, noop.delay)
