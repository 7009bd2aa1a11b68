"""Is behaviour unchanged? Digests of what 20,000 stored schedules do, to be the same before and after a step.

    python tests/control/control_digests.py hash OUT                  play them all; called again, it resumes
    python tests/control/control_digests.py compare BEFORE AFTER      which schedules differ, and where
    python tests/control/control_digests.py show NUMBER               one schedule's projection, a line an event

``hash`` writes a line per schedule: its number, the search that drew it, and a digest each of its history, of its
verdicts and of what is written for people (:mod:`projection` says of what exactly). At its end, and when there is
nothing left to play, it prints totals by search. ``--every K`` plays each K-th schedule only. The schedules are data
beside this file, drawn by ``draw_schedules.py``: what searches draw later does not change them.

``compare`` ends with 1 if anything differs. The first few differences are shown by playing them again: as they are now,
and as they were in ``--old CHECKOUT``, a checkout of the commit of BEFORE with its own ``.venv``. Where only the target
differs no checkout is needed. A step that adds a law or a kind of event leaves it out on its side, with
``hash --without NAME``, and so compares the others.
"""

from __future__ import annotations

import argparse
import gc
import json
import lzma
import multiprocessing
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any, NamedTuple

from digest_files import PARTS, Hashed, Line, Refused, Stored, check_comparable, differing, read, stored, totals, write
from projection import FORMAT, Projection, digest, problem_with, projected

HERE = Path(__file__).resolve().parent
SCHEDULES = HERE / "schedules.jsonl.xz"
CHUNK, BATCH = 20, 1_000
"""Schedules that a process takes at a time, and that are in memory at a time. What is lost by a kill is less."""
SHOWN = 3
MAX_JOBS = 64


def commit() -> str:
    """What is checked out, with ``-dirty`` behind it if it was changed since; ``unknown`` outside of a checkout."""
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


# Hashing.


class Job(NamedTuple):
    """A schedule to play, and on what; ``without`` as in :func:`projection.projected`."""

    schedule: Stored
    target: str
    without: frozenset[str]


def played(job: Job) -> Line:
    """Play and digest one."""
    each = job.schedule
    found = projected(each.document, each.target or job.target, job.without)
    return Line(each.number, each.origin, found.digests())


def _rarely_collect() -> None:
    # A trial leaves a few cycles, which are not worth a twentieth of the time to look for.
    gc.set_threshold(50_000, 20, 50)


def _begin_worker() -> None:
    _rarely_collect()
    # Ctrl-C reaches every process of the terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def lines_of(jobs: Iterator[Job], processes: int) -> Iterator[Line]:
    """Lines in the order of the schedules, however many processes play them."""
    _rarely_collect()
    if processes == 1:
        yield from map(played, jobs)
        return
    # Unlike multiprocessing's own pool, this one notices when a process dies.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _begin_worker) as pool:
        try:
            while some := list(islice(jobs, BATCH)):
                yield from pool.map(played, some, chunksize=CHUNK)
        except BrokenProcessPool:
            raise Refused("a process that played schedules was killed; the same command resumes") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def about(given: argparse.Namespace) -> dict[str, Any]:
    """What a file of digests says of itself: the same schedules on the same code give the same lines."""
    return {
        "format": FORMAT,
        "commit": commit(),
        "schedules": sha256(given.schedules.read_bytes()).hexdigest()[:16],
        "target": given.target,
        "every": given.every,
        "without": sorted(given.without),
    }


def begun(path: Path, said: dict[str, Any], anew: bool) -> Hashed:
    """What a former call has done, to be resumed; empty if there is none, or with --anew."""
    if anew or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = Hashed(said, {})
        write(path, fresh)
        return fresh
    found = read(path)
    if found.about != said:
        other = [f"{name} {found.about.get(name)}" for name, value in said.items() if found.about.get(name) != value]
        raise Refused(f"{path} holds digests of {', '.join(other)}; take another file, or --anew")
    if str(said["commit"]).endswith(("-dirty", "unknown")):
        raise Refused(
            f"{path} may be of other code, since this checkout has changes that are not committed; use --anew"
        )
    # Without what a kill left behind the last whole line.
    write(path, found)
    return found


def check_target(name: str) -> None:
    """Refused if there is no such target: each trial would raise, which is no reason to stop."""
    why = problem_with(name)
    if why is not None:
        raise Refused(why)


def hash_all(given: argparse.Namespace) -> int:
    """``hash``."""
    check_target(given.target)
    found = begun(given.out, about(given), given.anew)
    without = frozenset(given.without)
    left = (each for each in stored(given.schedules, given.every) if each.number not in found.lines)
    lines = lines_of((Job(each, given.target, without) for each in left), given.jobs)
    with given.out.open("a", encoding="utf-8", buffering=1) as out:
        _append(out, lines, found)
    print(totals(found))
    return 0


def _append(out: IO[str], lines: Iterator[Line], found: Hashed) -> None:
    for each in lines:
        out.write(f"{each}\n")
        found.lines[each.number] = each
        if len(found.lines) % 1_000 == 0:
            print(f"{len(found.lines):,} schedules", file=sys.stderr, flush=True)


# Comparing.


def compare(given: argparse.Namespace) -> int:
    """``compare``."""
    before, after = read(given.before), read(given.after)
    check_comparable(before, after)
    found = differing(before, after)
    both = before.lines.keys() & after.lines.keys()
    alone = len(before.lines.keys() ^ after.lines.keys())
    also = f"; {alone:,} more are in one file only" if alone else ""
    if not found:
        print(f"{len(both):,} schedules, no difference{also}")
        return 0
    counts = Counter(part for _, parts in found for part in parts)
    where = ", ".join(f"{part}: {counts[part]:,}" for part in PARTS)
    print(f"{len(found):,} of {len(both):,} schedules differ ({where}){also}")
    origins = Counter(before.lines[number].origin for number, _ in found)
    print("by search:", ", ".join(f"{origin} {count:,}" for origin, count in sorted(origins.items())))
    print("numbers:", " ".join(str(number) for number, _ in found[:50]), "..." if len(found) > 50 else "")
    can_play = given.old is not None or before.about["commit"] == after.about["commit"]
    for number, parts in found[: given.show]:
        if can_play:
            explain(given, before, after, number, parts)
    if not can_play:
        print(f"to see where, add --old with a checkout of {before.about['commit']} that has its .venv")
    return 1


def explain(given: argparse.Namespace, before: Hashed, after: Hashed, number: int, parts: Sequence[str]) -> None:
    """Play one schedule on both sides and print the first line in which each part differs."""
    old = play_side(given, before, number, given.old)
    new = play_side(given, after, number, None)
    print(f"\nschedule {number} ({before.lines[number].origin}) differs in {', '.join(parts)}")
    for part in parts:
        one, other = getattr(old, part), getattr(new, part)
        at = next((at for at, (x, y) in enumerate(zip_longest(one, other)) if x != y), None)
        if at is None:
            print(f"  {part}: the same now: BEFORE or AFTER is of other code than its commit says")
            continue
        print(f"  {part}, line {at} of {len(one)} and {len(other)}:")
        if at:
            print(f"    both   {one[at - 1]}")
        for side, lines in (("before", one), ("after", other)):
            print(f"    {side:6} {lines[at] if at < len(lines) else '(nothing more)'}")


def play_side(given: argparse.Namespace, side: Hashed, number: int, checkout: Path | None) -> Projection:
    """One schedule as the code of a checkout plays it; as this code does if there is none."""
    if checkout is None:
        return projection_of(given.schedules, number, side.about["target"], side.about["without"])
    script = checkout / HERE.relative_to(HERE.parents[1]) / Path(__file__).name
    command = [str(checkout / ".venv" / "bin" / "python"), str(script), "show", str(number), "--json"]
    command += ["--schedules", str(given.schedules), "--target", str(side.about["target"])]
    command += [word for name in side.about["without"] for word in ("--without", name)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as why:
        raise Refused(f"{checkout} has no {why.filename}: it must be a checkout with its .venv") from None
    if done.returncode:
        raise Refused(f"{checkout} cannot play it: {(done.stderr.strip() or 'it says nothing').splitlines()[-1]}")
    return Projection(*map(tuple, json.loads(done.stdout)))


# Showing.


def projection_of(path: Path, number: int, target: str, without: Sequence[str]) -> Projection:
    """What one stored schedule does."""
    for each in stored(path):
        if each.number == number:
            return projected(each.document, each.target or target, frozenset(without))
    raise Refused(f"there is no schedule {number} in {path}")


def show(given: argparse.Namespace) -> int:
    """``show``."""
    check_target(given.target)
    found = projection_of(given.schedules, given.number, given.target, given.without)
    if given.json:
        print(json.dumps(found))
        return 0
    for part, lines in found._asdict().items():
        print(f"# {part}: {len(lines)} lines, {digest(lines)}")
        print("\n".join(lines))
    return 0


def number_from(least: int, most: int) -> Any:
    """What argparse reads a whole number with."""

    def number(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)

    return number


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = options.add_subparsers(required=True, metavar="hash, compare or show")
    played_with = argparse.ArgumentParser(add_help=False)
    played_with.add_argument("--schedules", type=Path, default=SCHEDULES, help="Others than those beside this file.")
    on = argparse.ArgumentParser(add_help=False)
    on.add_argument("--target", default="reference", help="What is played; those drawn for a mutant keep that.")
    on.add_argument("--without", action="append", default=[], metavar="NAME", help="A law or kind to leave out.")
    one = commands.add_parser("hash", parents=[played_with, on], help="Play and digest the stored schedules.")
    one.add_argument("out", type=Path, help="A file of digests; one that was begun before is resumed.")
    one.add_argument("--every", type=number_from(1, 10**6), default=1, help="Each K-th schedule only.")
    one.add_argument("--jobs", type=number_from(1, MAX_JOBS), default=2, help="Processes.")
    one.add_argument("--anew", action="store_true", help="Begin anew, whatever OUT holds.")
    one.set_defaults(run=hash_all)
    two = commands.add_parser("compare", parents=[played_with], help="Compare two files of digests.")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    two.add_argument("--old", type=Path, help="A checkout, with its .venv, of the code that BEFORE is of.")
    two.add_argument("--show", type=number_from(0, 1_000), default=SHOWN, help="How many differences to show.")
    two.set_defaults(run=compare)
    three = commands.add_parser("show", parents=[played_with, on], help="Print the projection of one schedule.")
    three.add_argument("number", type=number_from(0, 10**9))
    three.add_argument("--json", action="store_true", help="For compare.")
    three.set_defaults(run=show)
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, or no difference; 1 there is one; 2 refused."""
    given = parser().parse_args(arguments)
    try:
        return int(given.run(given))
    except (Refused, OSError, EOFError, lzma.LZMAError) as why:
        print(f"control_digests: {why}", file=sys.stderr)
    except KeyboardInterrupt:
        print("control_digests: interrupted; the same command resumes it", file=sys.stderr)
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
