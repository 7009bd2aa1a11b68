"""The answers of RocketMQ's releases to the requests of the conformance conversations.

    python tests/control/control_answers.py OUT [--releases V,...]

A master, a slave and a name server of each release serve every conversation that takes no time, each over one
connection. OUT keeps the answers of a release, which is not played again. docs/measured/answers.tsv has each step that
not all releases answer as the law ``conversation-answered`` demands: node, step, request, the demanded status and
content, and each other answer with its releases. It is written once all releases were played; with ``--releases`` the
answers are compared with it, and the exit code is 1 if one differs. Needs the jars.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.extend(str(ROOT / "tests" / each) for each in ("java", "reference/shell"))

from processes import REFERENCE, Broker, NameServer  # noqa: E402
from visits import visit  # noqa: E402

from pairproof.chaos.rocketmq import jvm  # noqa: E402
from pairproof.chaos.rocketmq.frames import FORMS  # noqa: E402
from pairproof.chaos.rocketmq.install import NAMES_JAR, RELEASES, source  # noqa: E402
from pairproof.harness.rocketmq.conversations import CONVERSATIONS, MASTER, NAMES, SLAVE  # noqa: E402
from pairproof.harness.rocketmq.conversations.boundaries import AT_BOUNDARIES  # noqa: E402
from pairproof.harness.rocketmq.conversations.brokers import OF_BROKERS  # noqa: E402
from pairproof.harness.rocketmq.conversations.masters import OF_MASTERS  # noqa: E402
from pairproof.harness.rocketmq.conversations.served import READ  # noqa: E402
from pairproof.harness.rocketmq.conversations.steps import Conversation, Step, named  # noqa: E402

DATA = ROOT / "docs" / "measured" / "answers.tsv"
COLUMNS = ("node", "step", "request", "demanded", "answer", "releases")
# As long as the name that stands for it.
_OF_MASTERS = [named(each, f"seen-{number:02}") for number, each in enumerate((*OF_MASTERS, *AT_BOUNDARIES))]
PLAYED: Mapping[str, Sequence[Conversation]] = {
    MASTER: (*OF_BROKERS, *_OF_MASTERS), SLAVE: CONVERSATIONS[SLAVE], NAMES: CONVERSATIONS[NAMES],
}  # fmt: skip
SETTINGS: Mapping[str, Mapping[str, object]] = {MASTER: {}, SLAVE: {"brokerRole": "SLAVE", "brokerId": 1}}
DERIVED_S, ANSWER_S = 5, 20


def main() -> int:
    """Play the releases that OUT lacks, then write the table or compare with it."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--releases", default=",".join(RELEASES))
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    found = {}
    for release in wanted.releases.split(","):
        kept = wanted.out / f"{release}.json"
        if not kept.exists():
            kept.write_text(json.dumps(list(play(release))))
        found[release] = json.loads(kept.read_text())
        print(f"{release}: {len(found[release])} answers, {sum(not _is_right(*each) for each in found[release])} "
              "other than demanded", flush=True)  # fmt: skip
    if found.keys() < set(RELEASES):
        with DATA.open(encoding="utf-8", newline="") as file:
            known = _by_release(list(csv.reader(file, delimiter="\t"))[1:])
        wrong = sorted(each for each in _by_release(rows(found)) ^ known if each[0] in found)
        print(*(f"{release}, {node}: {step}: {answer}" for release, node, step, answer in wrong), sep="\n")
        return 1 if wrong else 0
    with DATA.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows(found))
    return 0


def _by_release(table: Iterable[Sequence[str]]) -> set[tuple[str, str, str, str]]:
    return {(release, row[0], row[1], row[4]) for row in table for release in row[5].split()}


def play(release: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Node, step, status and content of each answer."""
    jars = source(release).install()
    for node, conversations in PLAYED.items():
        if node == NAMES and not any(jars.glob(f"{NAMES_JAR}-*.jar")):
            continue
        with TemporaryDirectory() as folder, ExitStack() as stack:
            program = _program(node, jars, Path(folder))
            stack.callback(program.kill)
            program.start()
            for steps in conversations:
                for step, status, detail in visit(
                    program.address, FORMS[0], steps, derived_s=DERIVED_S, answer_s=ANSWER_S
                ):
                    yield node, step.name, status, detail


def _program(node: str, jars: Path, folder: Path) -> Broker | NameServer:
    made = NameServer(folder, REFERENCE) if node == NAMES else Broker(folder, REFERENCE, **SETTINGS[node])
    main = jvm.NAME_SERVER if node == NAMES else jvm.BROKER
    made.command = jvm.command(main, jars, folder / "home", folder / "conf")
    made.ready = jvm.READY.strip()
    return made


STEPS: Mapping[tuple[str, str], Step] = {
    (node, step.name): step for node, conversations in PLAYED.items() for each in conversations for step in each
}


def _is_right(node: str, step: str, status: str, detail: str | None) -> bool:
    served = STEPS[node, step].served
    if served is None:
        return True
    return status in served.statuses and (status not in READ or not served.right or detail in served.right)


def rows(found: Mapping[str, Sequence[Sequence[str]]]) -> Iterator[tuple[str, ...]]:
    """The table: ``found`` has the answers by release, the oldest first."""
    others: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for release, answers in found.items():
        for node, step, status, detail in answers:
            if not _is_right(node, step, status, detail):
                releases = others[node, step][f"{status} {detail or ''}".strip()]
                if release not in releases:
                    releases.append(release)
    for (node, name), step in STEPS.items():
        for answer, releases in others.get((node, name), {}).items():
            assert step.served is not None
            demanded = f"{'|'.join(sorted(step.served.statuses))} {' or '.join(step.served.right)}".strip()
            yield node, name, step.asks.code, demanded, answer, " ".join(releases)


if __name__ == "__main__":
    sys.exit(main())
