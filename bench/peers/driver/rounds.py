"""Measures a peer once, and counts its deliveries: a run whose count is not exact ends with an error and gives no figure."""

import contextlib
import time

from driver.peers import Peer
from driver.programs import Failure, Program, Redis, SqliteFile, answers, free_port, until

# A worker that was idle for so long.
REST_SECONDS = 1


class Miscount(Exception):
    """A job was delivered more or less than once."""


def store(folder, kind):
    return {"redis": lambda: Redis(folder, appends=False), "aof": lambda: Redis(folder, appends=True),
            "sqlite": lambda: SqliteFile(folder)}[kind]()


@contextlib.contextmanager
def prepared(peer: Peer, folder, kind):
    """A new store, with the services of the peer beside it, and a function that starts a verb of the peer on it."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(store(folder, kind))
        if peer.has_services:
            address = f"127.0.0.1:{free_port()}"
            for service in (["manager", "--listen", address], ["cleaner", "--retention", "--watch", "1m"]):
                command = [*peer.command, *service, "--engine-url", url]
                stack.enter_context(Program(f"{peer.name}-{service[0]}", command, folder))
            until(lambda: answers(f"http://{address}/health/ready"), "the manager is not ready")
        yield lambda verb, jobs: Program(f"{peer.name}-{verb}", [*peer.command, verb, url, jobs], folder)


def submitted(start, verb, jobs):
    with start(verb, jobs) as program:
        report = program.line()
    if report["submitted"] != jobs:
        raise Miscount(f"{program.name}: {report['submitted']} instead of {jobs} jobs were submitted")
    return report["seconds"]


def delivered(program, jobs):
    """Waits for the report of a worker and checks that each of the jobs was delivered once."""
    report = program.line()
    if (report["delivered"], report["missing"], report["repeated"], report["unknown"]) != (jobs, 0, 0, 0):
        raise Miscount(f"{program.name}: of {jobs} jobs {report['missing']} were never delivered and {report['repeated']} "
                       f"more than once, in {report['delivered']} deliveries")
    return report


def worked(start, jobs):
    with start("work", jobs) as worker:
        ready(worker)
        return delivered(worker, jobs)


def ready(worker):
    if not worker.line().get("ready"):
        raise Failure(f"{worker.name} is not ready")


def filled_and_drained(start, jobs):
    """Submits in bulk without a worker, and then starts one; jobs a second of both."""
    bulk = jobs / submitted(start, "bulk", jobs)
    return bulk, jobs / worked(start, jobs)["seconds"]


def measure(peer, folder, scale):
    """Figures by name, and how many jobs were submitted and delivered for them."""
    figures, counted = {}, 0
    jobs, singles, idles = (max(50, int(count * scale)) for count in (peer.jobs, peer.singles, 220))
    with prepared(peer, folder, peer.store) as start:
        figures["bulk"], figures["drain"] = filled_and_drained(start, jobs)
        figures["single"] = singles / submitted(start, "single", singles)
        worked(start, singles)
        with start("work", idles) as worker:
            ready(worker)
            time.sleep(REST_SECONDS)
            submitted(start, "idle", idles)
            report = delivered(worker, idles)
        figures["p50"], figures["p99"] = report["p50_ms"], report["p99_ms"]
        counted += jobs + singles + idles
    if peer.store == "redis":
        with prepared(peer, folder, "aof") as start:
            figures["bulk_aof"], figures["drain_aof"] = filled_and_drained(start, jobs)
        counted += jobs
    return figures, counted


def control(peer, folder):
    """Whether a lost and a repeated job are noticed: one of 101 jobs is never submitted, and another one twice, so that the
    bare count is right."""
    with prepared(peer, folder, peer.store) as start:
        submitted(start, "bulk", 100)
        submitted(start, "single", 1)
        try:
            worked(start, 101)
        except Miscount as noticed:
            return str(noticed)
    raise Failure(f"{peer.name}: a lost and a repeated job went unnoticed")
