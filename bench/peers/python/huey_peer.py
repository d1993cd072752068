"""huey, on Redis and on SQLite. Two worker processes, since the interpreter's lock lets one use one core. It has no call for many
jobs."""

import os
import sys
from urllib.parse import urlsplit

from deliveries import Deliveries, client, job, say

from huey import RedisHuey, SqliteHuey

verb, store, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3])
if store.startswith("redis://"):
    address = urlsplit(store)
    huey = RedisHuey("bench", host=address.hostname, port=address.port, results=False)
else:
    # As durable as the other stores on SQLite: each commit is synced.
    huey = SqliteHuey("bench", filename=store.removeprefix("sqlite://"), fsync=True, results=False)
deliveries = Deliveries(jobs if verb == "work" else 0)


@huey.task()
def noop(delivered):
    deliveries.note(delivered)


def work():
    # On SQLite it polls: often, since a worker that waits for 10 s as by default would have no latency to speak of.
    consumer = huey.create_consumer(workers=2, worker_type="process", periodic=False, initial_delay=0.005, max_delay=0.005)
    consumer.start()
    say(ready=True)
    deliveries.wait(huey.pending_count)
    deliveries.report()
    # Its processes are in our process group, which the driver ends.
    os._exit(0)


def bulk(count):
    for number in range(count):
        noop(job(number))


if verb == "work":
    work()
else:
    client(bulk, noop)
