"""The peers: what each is installed from, how it is started, and how many jobs it gets."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

from driver.programs import environment

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


class Absent(Exception):
    """A peer can't be had on this machine."""


class NotWanted(Exception):
    """The caller named other peers."""


@dataclass(frozen=True)
class Peer:
    name: str
    # As the table shows it.
    title: str
    settings: str
    # `redis` or `sqlite`.
    store: str
    # In bulk, and drained; so many that a drain takes a second or two.
    jobs: int
    # Submitted one after the other.
    singles: int
    # To which a verb, a store and a number are added.
    command: tuple
    # What becomes of a job whose worker is killed.
    killed: str
    # Whether a manager and a cleaner run beside.
    has_services: bool = False


def install(cache, names):
    """Installs and builds the named peers, or all. Returns those that can run here, and why others can't."""
    cache.mkdir(parents=True, exist_ok=True)
    found, absent = [], {}
    for make in (jobbers, bullmq, sidekiq, rust, python):
        try:
            found += [peer for peer in make(cache, names) if not names or peer.name in names]
        except NotWanted:
            continue
        except Absent as reason:
            absent[make.__name__] = str(reason)
    if names and not found:
        sys.exit(f"no such peer: {', '.join(sorted(names))}")
    return found, absent


def jobbers(cache, names):
    wanted(names, "jobbers-redis", "jobbers-sqlite")
    # With the versions that Jobbers is released with.
    shutil.copy(ROOT / "Cargo.lock", HERE / "rust/jobbers/Cargo.lock")
    program = build("jobbers", cache) / "jobbers-peer"
    # The last commit of what runs here.
    crates = ("api", "cleaner", "common", "engines", "manager", "process", "sqlite-file", "worker")
    title = f"**Jobbers** {output('git', '-C', ROOT, 'log', '-1', '--format=%h', '--', *crates)}"
    settings = "all defaults: 64 slots, keeps 100,000 finished tasks; manager and cleaner run beside"
    return [
        Peer(f"jobbers-{store}", title, settings, store, jobs, 3_000, (program,), "runs again", has_services=True)
        for store, jobs in (("redis", 200_000), ("sqlite", 100_000))
    ]


def bullmq(cache, names):
    wanted(names, "bullmq")
    need("npm", "node")
    folder = cache / "node"
    shutil.copytree(HERE / "node", folder, dirs_exist_ok=True)
    install_once(folder, folder / "package-lock.json", ["npm", "ci", "--no-audit", "--no-fund", "--silent"])
    pinned = json.loads((HERE / "node/package.json").read_text())["dependencies"]
    node = output("node", "--version").removeprefix("v")
    title = f"BullMQ {pinned['bullmq']} (ioredis {pinned['ioredis']}, Node {node})"
    settings = "100 at once, keeps no finished jobs"
    return [Peer("bullmq", title, settings, "redis", 30_000, 3_000, ("node", folder / "bullmq.mjs"), "runs again")]


def sidekiq(_cache, names):
    wanted(names, "sidekiq")
    need("ruby")
    try:
        version = output("ruby", "-e", "require 'sidekiq'; require 'hiredis'; print Sidekiq::VERSION")
    except subprocess.CalledProcessError:
        raise Absent("apt-get install ruby-sidekiq ruby-hiredis") from None
    title = f"Sidekiq {version} (hiredis, Ruby {output('ruby', '-e', 'print RUBY_VERSION')})"
    command = ("ruby", "--yjit", HERE / "ruby/sidekiq.rb")
    return [Peer("sidekiq", title, "10 threads, YJIT", "redis", 40_000, 3_000, command, "is lost")]


def rust(cache, names):
    wanted(names, "apalis-redis", "apalis-sqlite", "river")
    programs = build("others", cache, "--locked")
    manifest = (HERE / "rust/others/Cargo.toml").read_text()
    version = {name: re.search(rf'^{name} = .*"=([\d.]+)"', manifest, re.MULTILINE)[1]
               for name in ("apalis", "apalis-redis", "apalis-sqlite", "riverqueue")}
    apalis = "looks every {} ms for 1,000 jobs, neither locks nor announces each"
    return [
        Peer("apalis-redis", f"apalis-redis {version['apalis-redis']}", f"{apalis.format(10)}; 7,000 jobs, since with 8,000 its worker dies",
             "redis", 7_000, 3_000, (programs / "apalis",), "runs again"),
        Peer("apalis-sqlite", f"apalis-sqlite {version['apalis-sqlite']}", f"{apalis.format(50)}; `ANALYZE`d; WAL, synchronous=FULL", "sqlite", 20_000,
             3_000, (programs / "apalis",), "runs again"),
        Peer("river", f"River {version['riverqueue']} (Rust)", "looks every 1 ms, 1,000 slots; WAL, synchronous=FULL", "sqlite",
             20_000, 3_000, (programs / "river",), "runs again"),
    ]


def python(cache, names):
    wanted(names, "huey-redis", "huey-sqlite", "celery", "rq")
    folder, pins = cache / "python", HERE / "python/requirements.txt"
    if not (folder / "bin/python").exists():
        run([sys.executable, "-m", "venv", folder])
    install_once(folder, pins, [folder / "bin/pip", "install", "--quiet", "--requirement", pins])
    version = dict(re.findall(r"^(\w+)\S*==(\S+)$", pins.read_text(), re.MULTILINE))
    title = f"{{}} (Python {output(folder / 'bin/python', '-c', 'import platform; print(platform.python_version())')})"

    def peer(name, program, title, settings, store, jobs, singles, killed):
        command = (folder / "bin/python", "-B", HERE / f"python/{program}_peer.py")
        return Peer(name, title, settings, store, jobs, singles, command, killed)

    huey = title.format(f"huey {version['huey']}")
    return [
        peer("huey-redis", "huey", huey, "2 processes", "redis", 10_000, 3_000, "is lost"),
        peer("celery", "celery", title.format(f"Celery {version['celery']}"), "2 processes with the pool solo", "redis", 4_000,
             1_000, "is lost"),
        peer("rq", "rq", title.format(f"RQ {version['rq']}"), "2 processes with a SimpleWorker", "redis", 800, 1_000, "fails"),
        peer("huey-sqlite", "huey", huey, "2 processes, look every 5 ms; WAL, synchronous=FULL", "sqlite", 2_000, 3_000, "is lost"),
    ]


def wanted(names, *peers):
    if names and not names.intersection(peers):
        raise NotWanted


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Absent(f"needs {program}")


def released():
    """Builds `jobbers` as it is released, and returns the program."""
    run(["cargo", "build", "--release", "--quiet", "--bin", "jobbers"])
    return ROOT / "target/release/jobbers"


def build(package, cache, *flags):
    """Builds a Rust package, and returns the folder of its programs."""
    target, manifest = cache / f"target-{package}", HERE / "rust" / package / "Cargo.toml"
    run(["cargo", "build", "--release", "--quiet", "--manifest-path", manifest, "--target-dir", target, *flags])
    return target / "release"


def install_once(folder, pins, command):
    """Runs an installation in a folder, unless it did with the same pins."""
    done = folder / "installed"
    if not done.exists() or done.read_text() != pins.read_text():
        run(command, folder)
        shutil.copy(pins, done)


def run(command, folder=ROOT):
    # Without what the caller set for other builds, such as lints.
    subprocess.run([str(part) for part in command], cwd=folder, env=environment(), check=True)


def output(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout.strip()
