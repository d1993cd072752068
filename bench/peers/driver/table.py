"""The table of all rounds: medians with their ranges, and how often Jobbers is as fast, taken within each round."""

import datetime
import os
import pathlib
import platform
import statistics
import subprocess
import time

REDIS = {"drain": "drain", "drain_aof": "drain, AOF", "bulk": "bulk", "bulk_aof": "bulk, AOF", "single": "one by one"}
SQLITE = {"drain": "drain", "bulk": "bulk", "single": "one by one"}


class Results:
    def __init__(self, peers, absent):
        self.peers, self.absent = peers, absent
        self.rounds = {peer.name: [] for peer in peers}
        self.counted = {peer.name: 0 for peer in peers}
        self.foreign = []

    def note_foreign_load(self):
        """How many cores others use, while nothing of this benchmark runs."""
        before, began = busy_seconds(), time.monotonic()
        time.sleep(1)
        self.foreign.append((busy_seconds() - before) / (time.monotonic() - began))

    def add(self, peer, figures, counted):
        self.rounds[peer.name].append(figures)
        self.counted[peer.name] += counted

    def markdown(self):
        parts = [self._machine()]
        for store, heading, rates in (("redis", "On Redis", REDIS), ("sqlite", "On SQLite", SQLITE)):
            peers = [peer for peer in self.peers if peer.store == store]
            if peers:
                parts += [f"### {heading}", self._rates(peers, rates), self._latencies(peers), self._peers(peers)]
        parts += [f"Left out on this machine: {name}, {reason}." for name, reason in self.absent.items()]
        return "\n\n".join(parts)

    def _rates(self, peers, rates):
        rows = [["jobs a second", *rates.values()]]
        for peer in peers:
            rows.append([peer.title, *(self._cell(peer, rate, peers[0]) for rate in rates)])
        return table(rows)

    def _latencies(self, peers):
        rows = [["idle worker, ms from submission to start", "p50", "p99"]]
        for peer in peers:
            rows.append([peer.title, self._cell(peer, "p50", peers[0], 2), self._cell(peer, "p99", peers[0], 2)])
        return table(rows)

    def _peers(self, peers):
        rows = [["", "settings", "by its documentation, a job whose worker is killed", "submitted and delivered once"]]
        for peer in peers:
            rows.append([peer.title, peer.settings, peer.killed, f"{self.counted[peer.name]:,} of {self.counted[peer.name]:,}"])
        return table(rows)

    def _cell(self, peer, figure, ours, digits=0):
        values = [figures[figure] for figures in self.rounds[peer.name]]
        show = (lambda value: f"{value:.{digits}f}") if digits else thousands
        text = show(statistics.median(values))
        if len(values) > 1:
            text += f" [{show(min(values))}..{show(max(values))}]"
        if peer is ours or not ours.name.startswith("jobbers"):
            return text
        of_ours = [figures[figure] for figures in self.rounds[ours.name]]
        ratios = [us / them for us, them in zip(of_ours, values)]
        ratio = statistics.median(ratios)
        return f"{text}, {ratio:.0f}x" if ratio >= 10 else f"{text}, {ratio:.2g}x"

    def _machine(self):
        rounds = max(map(len, self.rounds.values()))
        return (
            f"{machine()}. Medians of {rounds} interleaved rounds [lowest..highest], then "
            f"Jobbers' figure divided by this one, the median of the quotients within each round. Between rounds other "
            f"programs used {min(self.foreign):.1f} to {max(self.foreign):.1f} cores."
        )


def write(page: pathlib.Path, program, figures):
    """Puts the figures of a program into a page, between its marks."""
    begin, end = f"<!-- figures: written by {program} -->", "<!-- end of figures -->"
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end, 1)
    page.write_text(f"{before}{begin}\n\n{figures}\n\n{end}{after}")


def machine():
    """The day and the machine."""
    redis = subprocess.run(["redis-server", "--version"], capture_output=True, text=True).stdout.split("v=")[1].split()[0]
    return (
        f"{datetime.date.today()}, {len(os.sched_getaffinity(0))} cores ({cpu_model()}), {memory_gib()} GiB, "
        f"Linux {platform.release().split('-')[0]}, Redis {redis}"
    )


def table(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def thousands(value):
    return f"{value / 1e3:.3g}k" if value >= 1e3 else f"{value:.3g}"


def busy_seconds():
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def cpu_model():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def memory_gib():
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
