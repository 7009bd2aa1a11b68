"""Makes ``docs/scenarios.md`` from the scenarios' files; ``python -m pairproof.chaos.scenarios.page [DOCS]`` writes it.

A test compares what is there with what it would be.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from ...harness.rocketmq import topology
from ...harness.trials import resolve
from . import library, timeline
from .scenario import Scenario
from .steps import steps, usual

PAGE = "scenarios.md"
HEAD = """\
<!-- Made by python -m pairproof.chaos.scenarios.page; change the files or the code, not this page. -->
# Scenarios

A scenario is a file: settings, a workload, faults in time, and what is expected. The same file runs in every lab, and
every trial is judged by all laws besides.

    pairproof chaos list
    pairproof chaos show cut-under-sync-send
    pairproof chaos run cut-under-sync-send --lab process
    pairproof chaos run --all --lab docker --jobs 4
    pairproof chaos run my-scenario.yaml --repeat 10
    pairproof chaos parity --all

## Those that come with pairproof

*catches*: mutants of the reference that the scenario notices, each proved by a test. *s*: what one trial takes without
the settling at its end.
"""
FORM = """\
## A file of your own

    name: my-scenario              # the file's name
    about: What one learns from it.
    promises: [What should hold, in words]
    settings: {brokerRole: SYNC_MASTER, slaveTimeout: 1000, lab.slaves: 2}
    each: {bytes: 0..12}           # every value in turn, as ${bytes}; or a list of combinations
    repeat: 3                      # each case so often
    workload:
      - send: {every: 20ms, from: 0s, for: 3s, queue: 0, size: 200B, wait: true}
      - pull: {every: 500ms, for: 3s, node: slave}
    timeline:
      - {at: 1s, fault: down, with: {link: ha}, for: 2s, id: cut}
      - {after: 500ms, fault: kill, with: {node: slave}, id: dead}
      - {after_sends: 120, heal: dead}
      - {at: 6s, pull: {node: master}}
    lasts: 8s
    laws: all                      # or a list
    expect:
      judged: [ack-replicated]     # laws that must have had something to judge
      statuses: {PUT_OK: ">=20"}   # answers to sends: 0, ">=1", "<=3", "1..5"; PUT_OK@master for one node's
      events: {diverged: 0}        # kinds of event
      during: {cut: {statuses: {SLAVE_NOT_AVAILABLE: ">=1"}}}
      costs: {lost: 0}             # what the fault cost
      bites: true                  # every fault must have done something

- `target`: a target of the system that the scenario is about, if that is not RocketMQ: its settings are meant.
- `settings`: RocketMQ's own keys and values, and what the pair consists of: `lab.slaves`, `lab.nameServer` (a name
  server,
  which consumers need), `lab.others` (a master of another broker name), `lab.haMasterAddress`,
  `lab.slaveFileSize` and `lab.slaveMemory` (the slaves' `mappedFileSizeCommitLog` and `totalMemory`, where they are
  not the master's), `lab.connectBrokerByUser` and `lab.defaultBrokerId` (users of consumers fix the broker to read
  from). `lab.sendTimeoutMs` is how long producers wait for an answer, 10 s unless it is set; sends that wait in turn
  may take longer. `lab.pullMessages` is how many messages readers ask for, 32 unless it is set.
  In the simulation, what one end sends within `lab.gatherMicros` arrives as one piece, and with `lab.spread: 10`
  latencies and flushes take a tenth to ten times as long as usual; with `lab.absentNameServers` brokers and clients
  know two
  name servers, of which the first (1) or the second (2) is not there.
  Cases with another `rocketmqVersion` than the target's are left out for targets that have their own.
- A step begins `at` a time, `after` the end of the step before it, or right behind the n-th send (`after_sends`). A
  fault lasts `for` a time, until `heal` names it, or to the end. `pairproof labs` lists faults and their arguments,
  [history.md](history.md) the kinds of event.
- Other steps are operations, below. While an `await` lets time pass the workload stands still.
- Faults and steps need abilities, which `pairproof labs` lists. Where a lab lacks one, `--all` leaves the scenario out
  and says so at the end; asked for by its name it is played without that part, and skipped.
- `before`, `during` and `after` count what was invoked, or happened, in relation to the fault with that id.
- `costs` counts what a fault that took a broker away cost: of the messages answered with PUT_OK before it, those `lost`
  (no broker has them at the end), `stranded` (only a slave has them), `readable` (delivered to somebody while the fault
  lasted) and `unavailable` (not so); of the sends meanwhile, those `tried`, `accepted` (PUT_OK) and only `stored`.
- `expect` may be a list, of which an entry with `when` counts for some targets only: `when: "<5"` by the version that
  the target behaves as (`5.5.0`, `4.9.3..4.9.7`), `when: bare-connection-counts` where that
  [deviation](decisions/0053-known-deviations.md) is known of the target, `when: "<5, not bare-connection-counts"`
  where both are so.
- `violated` lists laws that a target with a seeded bug must break. `differs` says of a law why labs may disagree in it.

A trial is *violated* if a law is, *unmet* if an expectation was not met (both end with 1); *unknown* if a law could not
tell, a fault did nothing or a law in `judged` had nothing to judge, *skipped* if the lab could not do a part, here or
at all (both 3); *failed* if the lab failed (4). A law in `judged`, or a kind of event with a count, that the lab cannot
observe of the target is named and owed nothing; without any observable law in `judged` the scenario is unknown. In
`parity` a lab *cannot* where it lacks an ability: the others are compared.
"""


def made() -> str:
    """The page."""
    lines = [
        HEAD,
        "| scenario | what you learn | deployment | faults | laws | catches | s |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_row(library.shipped(name)) for name in library.names()]
    return "\n".join(lines) + "\n\n" + FORM + "\n".join(_operations()) + "\n"


def _operations() -> Iterator[str]:
    yield from ("", "## Operations", "")
    yield from (
        "| operation | what it does | arguments, and what they are unless told | in a workload |",
        "|---|---|---|---|",
    )
    for name in steps():
        each = resolve.operations()[name]
        told = (f"`{key}`" + ("" if (of := usual(name).get(key)) is None else f" ({of})") for key in each.arguments)
        about = " ".join((each.__doc__ or "").replace("``", "`").split())
        yield f"| `{name}` | {about} | {', '.join(told)} | {'yes' if each.is_load else ''} |"


def _row(scenario: Scenario) -> str:
    faults = {str(each.op.args["name"]) for case in scenario.cases for each in case.steps if each.op.do == "fault"}
    judged = {law for case in scenario.cases for law in case.judged}
    cells = (
        f"`{scenario.name}`" + (f" ({len(scenario.cases)} cases)" if len(scenario.cases) > 1 else ""),
        scenario.about,
        deployment(scenario),
        ", ".join(sorted(faults)) or "none",
        ", ".join(sorted(judged)),
        ", ".join(scenario.catches),
        f"{seconds(scenario):g}",
    )
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


def deployment(scenario: Scenario) -> str:
    """What the scenario runs on, in words."""
    roles = sorted({str(each.settings.get("brokerRole", "SYNC_MASTER")) for each in scenario.cases})
    slaves = sorted({topology.slaves(each.settings) for each in scenario.cases})
    parts = [" or ".join(roles), " or ".join(f"{count or 'no'} slave{'' if count == 1 else 's'}" for count in slaves)]
    parts += ["name server"] if any(topology.has_names(each.settings) for each in scenario.cases) else []
    parts += ["second broker name"] if any(topology.has_other(each.settings) for each in scenario.cases) else []
    return ", ".join(parts)


def seconds(scenario: Scenario) -> float:
    """How long its longest case takes."""
    return max(timeline.length_ms(each) for each in scenario.cases) / 1000


def main(docs: Path) -> None:
    """Write the page into ``docs``."""
    (docs / PAGE).write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
