"""Files of strangers, changed at random: no verdict turns green, nothing is written elsewhere, memory is bounded.

    python tests/control/control_attacks.py --mutations 1000 --seed S --out FOLDER [--kinds findings,runs] [--part 1/4]

Recorded once, in FOLDER/base: a run that violates laws, and a campaign whose leader was killed at its end. Of each kind
(``findings``, ``runs``: run.json, ``chunks``: a campaign's records, ``parts``: of the tables) so many copies are
changed, a file each, and read by a command in a process of its own. Half of the changed runs get the digests that their
list of contents needs, as a forger would write them.

A file ``KIND-NNNN.json`` for each attack that failed: what was changed, the command, its exit code, its largest
resident set, and what it said. A part of a kind that was played before is not played again. Exit code 1 if any failed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from control_runs import Part

from pairproof.harness.campaign.plan import Plan, chunks
from pairproof.harness.commands.main import main as pairproof
from pairproof.harness.runs import atomic
from pairproof.harness.runs.reader import read_facts
from pairproof.harness.runs.wholeness import digest

TARGET = "reference+repeats_frame"
LAWS = ("ha-appends-frames", "log-prefix")
MAX_RSS_KB = 600_000
MAX_S = 120
READS = (
    ["show"],
    ["show"],
    ["judge"],
    ["report", "--engine", "local"],
    ["report", "--engine", "local", "--no-rejudge"],
)
DEEP = "nested deeper than what reads it"
VICTIM = "what nobody may change\n"


class Outcome(NamedTuple):
    """What a command came to."""

    code: int
    rss_kb: int
    said: str


def base(folder: Path) -> tuple[Path, Path, str]:
    """The recorded run, the campaign, and the digest of all that the campaign holds when it has come to its end."""
    laws = [word for law in LAWS for word in ("--law", law)]
    about = ["--target", TARGET, "--seed", "attacked", *laws]
    if not folder.exists():
        making = folder.with_name(f".{folder.name}")
        shutil.rmtree(making, ignore_errors=True)
        run = ["check", "--trials", "12", "--jobs", "1", *about, "--runs", str(making / "run")]
        campaign = ["campaign", "--trials", "24", "--engine", "local", "--jobs", "1", *about]
        for command in (run, [*campaign, "--runs", str(making / "campaign")]):
            if (found := in_process(command, making)).code != 1:
                raise SystemExit(f"{' '.join(command)} ended with {found.code}: {found.said}")
        making.rename(folder)
    (run,), (played,) = (list((folder / name).iterdir()) for name in ("run", "campaign"))
    return run, played, rows_of(played)


def warm(run: Path, campaign: Path) -> None:
    """Import and enumerate once what each attack's process would have to."""
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        pairproof(["judge", str(run)])
        pairproof(["report", "--engine", "local", "--out", f"{folder}/report", str(run)])
        plan = Plan.of_facts(read_facts(campaign))
        assert plan is not None
        chunks(plan)


def rows_of(folder: Path) -> str:
    """A digest of all parts and findings of a campaign."""
    made = hashlib.blake2b(digest_size=12)
    for path in sorted([*folder.glob("*/part-*.parquet"), *folder.glob("findings/*.json")]):
        held = path.read_bytes()
        # Its replay line names the folder.
        told = json.dumps({**json.loads(held), "replay": ""}).encode() if path.suffix == ".json" else held
        made.update(f"{path.parent.name}/{path.name}".encode() + told)
    return made.hexdigest()


def in_process(arguments: list[str], folder: Path) -> Outcome:
    """What a command comes to in a process of its own, whose standard streams are a file in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    said = folder / ".said"
    child = os.fork()
    if not child:
        code = 99
        with contextlib.suppress(BaseException):
            out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.chdir(folder)
            try:
                code = pairproof(arguments)
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 99
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    ended, until = 0, time.monotonic() + MAX_S
    while not ended:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if not ended and time.monotonic() > until:
            os.kill(child, 9)
            _, status, used = os.wait4(child, 0)
            break
        time.sleep(0.01)
    text = said.read_text(errors="replace")
    said.unlink()
    return Outcome(os.waitstatus_to_exitcode(status), used.ru_maxrss, text)


# What is changed.


def value(chance: Random) -> Any:
    """A value that may stand nowhere."""
    return chance.choice((
        None, "", "../../../../ESCAPED", "/ESCAPED", -1, 0, 1, 10**30, 1e308, True, [], {}, DEEP, "x" * 100_000,
        "\x1b]0;x\x07", {"a": {"b": []}}, [None], "\ud800", "0001-01-01T00:00:00+14:00", "reference", "s", 10**400,
    ))  # fmt: skip


def change_json(path: Path, chance: Random) -> str:
    """Change a JSON file: one value of it, or some bytes."""
    if chance.random() < 0.25:
        return change_bytes(path, chance)
    try:
        told = json.loads(path.read_bytes())
    except ValueError:
        return change_bytes(path, chance)
    at, where = told, []
    while isinstance(at, (dict, list)) and at:
        key: Any = chance.choice(list(at)) if isinstance(at, dict) else chance.randrange(len(at))
        where.append(key)
        if not isinstance(at[key], (dict, list)) or not at[key] or chance.random() < 0.3:
            if chance.random() < 0.15:
                del at[key]
            else:
                at[key] = value(chance)
            break
        at = at[key]
    path.write_text(json.dumps(told).replace(f'"{DEEP}"', "[" * 2_000 + "]" * 2_000))
    return f"{path.name}: {where}"


def change_bytes(path: Path, chance: Random) -> str:
    """Change the bytes of a file, or make it a link."""
    held = bytearray(path.read_bytes())
    how = chance.choice(("flip", "cut", "empty", "zeros", "insert", "delete", "link"))
    if how == "flip" and held:
        for _ in range(chance.choice((1, 8))):
            held[chance.randrange(len(held))] ^= 1 << chance.randrange(8)
    elif how == "cut":
        del held[chance.randrange(len(held) + 1) :]
    elif how == "empty":
        held.clear()
    elif how == "zeros" and held:
        begin = chance.randrange(len(held))
        held[begin : begin + 16] = bytes(len(held[begin : begin + 16]))
    elif how == "insert":
        held[(begin := chance.randrange(len(held) + 1)) : begin] = chance.randbytes(8)
    path.unlink()
    if how == "link":
        path.symlink_to(path.parents[2] / "victim")
    elif how != "delete":
        path.write_bytes(held)
    return f"{path.parent.name}/{path.name}: {how}"


def change_part(path: Path, chance: Random) -> str:
    """Change a part: some bytes, the rows of a column, its columns, or put another part in its place."""
    how = chance.choice(("bytes", "column", "column", "column", "drop", "bomb", "other", "rows"))
    if how == "bytes":
        return change_bytes(path, chance)
    rows = pq.read_table(path, partitioning=None)
    name = chance.choice(rows.schema.names)
    at, kind = rows.schema.get_field_index(name), rows.schema.field(name).type
    if how == "column":
        texts = (
            "",
            "../../../ESCAPED",
            "/ESCAPED",
            "holds",
            "violated",
            "{",
            "[" * 3_000,
            "{}",
            "[]",
            "null",
            '{"a": "b"}',
            "start",
        )
        texts_or_numbers = texts if kind == pa.string() else (0, 1, -1, 1 << 62, -(1 << 63))
        fitting = None if chance.random() < 0.2 or pa.types.is_map(kind) else chance.choice(texts_or_numbers)
        if pa.types.is_boolean(kind):
            fitting = chance.random() < 0.5
        rows = rows.set_column(at, name, pa.repeat(pa.scalar(fitting, kind), len(rows)))
    elif how == "bomb":
        size = chance.choice((100_000, 5_000_000, 30_000_000))
        texts_of = [each for each in rows.schema.names if rows.schema.field(each).type == pa.string()]
        at = rows.schema.get_field_index(chance.choice(texts_of))
        # Named by each row, and made once: what this process takes, its children begin with.
        alike = pa.DictionaryArray.from_arrays(pa.array([0] * len(rows), pa.int32()), ["x" * size])
        rows = rows.set_column(at, rows.schema.names[at], alike)
    elif how == "drop":
        rows = rows.drop_columns([name])
    elif how == "rows":
        rows = rows.slice(chance.randrange(len(rows) + 1)) if chance.random() < 0.5 else pa.concat_tables([rows] * 3)
    if how == "other":
        others = [each for each in path.parents[1].glob("*/part-*.parquet") if each != path]
        shutil.copy(chance.choice(others), path)
    else:
        pq.write_table(rows, path, compression="zstd", write_page_checksum=True, store_schema=False)
    return f"{path.parent.name}/{path.name}: {how} {name}"


def seal(run: Path) -> None:
    """Make the digests right, as a forger would."""
    with contextlib.suppress(Exception):
        told = json.loads((run / "run.json").read_bytes())
        digests = told["contents"]["digests"]
        told["contents"]["digests"] = {
            name: digest((run / name).read_bytes()) if (run / name).exists() else each for name, each in digests.items()
        }
        (run / "run.json").write_text(json.dumps(told))


# Attacks: each changes a copy of a folder, and says what it did and what is asked of it.

Attack = Callable[[Path, Random], tuple[str, list[str]]]


def finding(run: Path, chance: Random) -> tuple[str, list[str]]:
    path = chance.choice(sorted((run / "findings").iterdir()))
    told = change_json(path, chance)
    if chance.random() < 0.4:
        return told, ["replay", str(path)]
    if chance.random() < 0.5:
        seal(run)
    return told, [*chance.choice(READS), str(run)]


def facts(run: Path, chance: Random) -> tuple[str, list[str]]:
    return change_json(run / "run.json", chance), [*chance.choice(READS), str(run)]


def part(run: Path, chance: Random) -> tuple[str, list[str]]:
    told = change_part(chance.choice(sorted(run.glob("*/part-*.parquet"))), chance)
    if chance.random() < 0.7:
        seal(run)
    return told, [*chance.choice(READS), str(run)]


def chunk(run: Path, chance: Random) -> tuple[str, list[str]]:
    """A chunk's record, or a part of it, of a campaign whose leader was killed."""
    told = json.loads((run / "run.json").read_bytes())
    (run / "run.json").write_text(json.dumps({**told, "state": "running", "contents": None}))
    if chance.random() < 0.7:
        path = chance.choice(sorted((run / "chunks").iterdir()))
        what = change_json(path, chance)
        if chance.random() < 0.5:
            with contextlib.suppress(Exception):
                text = json.dumps(json.loads(path.read_bytes())["told"])
                path.write_text(f'{{"digest": "{digest(text.encode())}", "told":\n{text}\n}}')
    else:
        what = change_part(chance.choice(sorted(run.glob("*/part-*.parquet"))), chance)
    return what, ["campaign", "--engine", "local", "--jobs", "1", "--resume", str(run)]


KINDS: dict[str, Attack] = {"findings": finding, "runs": facts, "chunks": chunk, "parts": part}


def attacked(kind: str, number: int, seed: str, origin: Path, whole: str) -> dict[str, object] | None:
    """One attack; what failed, or None."""
    chance = Random(f"{seed} {kind} {number}")
    with TemporaryDirectory(prefix="attack-") as folder:
        sandbox = Path(folder)
        (sandbox / "victim").write_text(VICTIM)
        run = shutil.copytree(origin, sandbox / "runs" / origin.name)
        what, command = KINDS[kind](run, chance)
        found = in_process(command, sandbox / "here")
        outside = {str(each.relative_to(sandbox)) for each in sandbox.rglob("*") if run not in (each, *each.parents)}
        wrong = []
        if found.code not in (0, 1, 2, 3):
            wrong.append(f"exit code {found.code}")
        if found.code == 0 and command[0] != "replay":
            wrong.append("green")
        if found.rss_kb > MAX_RSS_KB:
            wrong.append(f"{found.rss_kb:,} KB")
        if outside != {"victim", "runs", "here"} or (sandbox / "victim").read_text() != VICTIM:
            wrong.append(f"written elsewhere: {sorted(outside)}")
        if any(ord(each) < 32 and each not in "\n\t" for each in found.said):
            wrong.append("control characters")
        if command[0] == "campaign" and found.code in (0, 1) and rows_of(run) != whole:
            wrong.append("another digest")
    about = {"kind": kind, "number": number, "changed": what, "command": command, "wrong": wrong, "code": found.code}
    return {**about, "rss_kb": found.rss_kb, "said": found.said[-4_000:]} if wrong else None


def main() -> int:
    """Parse the command line, play what is left of a part, print what came of it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--mutations", type=int, required=True, help="Of each kind.")
    options.add_argument("--seed", required=True, help="Decides all: take a fresh one for a fresh sample.")
    options.add_argument("--out", type=Path, required=True, help="Folder for what failed.")
    options.add_argument("--kinds", default=",".join(KINDS), help="Which ones, with commas between them.")
    options.add_argument("--part", type=Part.parse, default=Part(0, 1), help="i/k: every k-th, from the i-th.")
    given = options.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    run, campaign, whole = base(out / "base")
    warm(run, campaign)
    for kind in given.kinds.split(","):
        done = out / f"{kind}-{given.part.first}-of-{given.part.of}-{given.mutations}.done"
        if done.exists():
            continue
        for number in given.part.numbers(given.mutations, 0):
            found = attacked(kind, number, given.seed, campaign if kind == "chunks" else run, whole)
            if found is not None:
                atomic.put_json(out, f"{kind}-{number:04d}.json", found)
        done.touch()
        print(f"{kind}: {given.mutations:,} changed files in {given.part.of} parts", flush=True)
    names = sorted(each.name for each in out.glob("*-*.json"))
    print(f"attacks that failed: {', '.join(names) or 'none'}")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
