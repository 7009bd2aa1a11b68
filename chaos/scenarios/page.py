"""Makes ``docs/scenarios.md`` from the scenarios' files; ``python -m pairproof.chaos.scenarios.page [DOCS]`` writes it.

A test compares the page with its source.
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

A scenario is a file: settings, a workload, faults on a timeline, and expectations. The same file runs in every lab, and
every trial is also judged by all laws.

    pairproof chaos list
    pairproof chaos show cut-under-sync-send
    pairproof chaos run cut-under-sync-send --lab process
    pairproof chaos run --all --lab docker --jobs 4
    pairproof chaos run my-scenario.yaml --repeat 10
    pairproof chaos parity --all

## Scenarios of pairproof

*catches*: mutants of the reference that the scenario detects, each proved by a test. *s*: length of one trial, without
the settling at its end.
"""
FORM = """\
## Your own file

    name: my-scenario              # the file's name
    about: What users learn from it.
    promises: [The expected guarantee, in words]
    settings: {brokerRole: SYNC_MASTER, slaveTimeout: 1000, lab.slaves: 2}
    each: {bytes: 0..12}           # every value in turn, as ${bytes}; or a list of combinations
    repeat: 3                      # trials of each case
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
      events: {diverged: 0}        # event types
      during: {cut: {statuses: {SLAVE_NOT_AVAILABLE: ">=1"}}}
      costs: {lost: 0}             # what the fault cost
      bites: true                  # every fault must have had an effect

- `target`: a target of the system that the scenario is about, unless that is RocketMQ; `settings` are its own.
- `settings`: RocketMQ's own keys and values, and the nodes of the pair: `lab.slaves`, `lab.nameServer` (a name
  server, which consumers need), `lab.others` (a master of another broker name), `lab.haMasterAddress`,
  `lab.slaveFileSize` and `lab.slaveMemory` (the slaves' `mappedFileSizeCommitLog` and `totalMemory`, if they differ
  from the master's), `lab.connectBrokerByUser` and `lab.defaultBrokerId` (users of consumers fix the broker to read
  from). `lab.sendTimeoutMs` is the producers' timeout, 10 s by default; sends that wait in turn may take longer.
  `lab.pullMessages` is the number of messages that readers request, 32 by default. In the simulation, bytes that one
  end sends within `lab.gatherMicros` arrive as one piece, and with `lab.spread: 10` latencies and flushes take a
  tenth to ten times as long as usual; with `lab.absentNameServers` brokers and clients have two name servers, of
  which the first (1) or the second (2) is absent. Cases with another `rocketmqVersion` than the target's are left out
  for targets that have their own.
- A step begins `at` a time, `after` the end of the step before it, or right after the n-th send (`after_sends`). A
  fault lasts `for` a time, until `heal` names it, or to the end. `pairproof labs` lists faults and their arguments,
  [history.md](history.md) the event types.
- Other steps are operations, below. During an `await` the workload is paused.
- Faults and steps need abilities, which `pairproof labs` lists. If a lab lacks one, `--all` leaves the scenario out
  and reports that at the end; a scenario that was named is played without that part, and skipped.
- `before`, `during` and `after` count sends and events in relation to the fault with that id.
- `costs` counts the effects of a fault that stopped a broker: of the messages answered with PUT_OK before it, those
  `lost` (no broker has them at the end), `stranded` (only a slave has them), `readable` (delivered to a consumer
  during the fault) and `unavailable` (not delivered); of the sends during it, those `tried`, `accepted` (PUT_OK) and
  only `stored`.
- `expect` may be a list, in which an entry with `when` applies to some targets only: `when: "<5"` by the version that
  the target behaves as (`5.5.0`, `4.9.3..4.9.7`), `when: bare-connection-counts` if that
  [deviation](decisions/0053-known-deviations.md) is known of the target, `when: "<5, not bare-connection-counts"` for
  both conditions.
- `violated` lists laws that a target with a seeded bug must break. `differs` has the reason why labs may disagree in
  a law.

A trial is *violated* if a law is, *unmet* if an expectation was not met (both end with 1); *unknown* if a law was
undecided, a fault had no effect or a law in `judged` had nothing to judge, *skipped* if the lab could not do a part
(both 3); *failed* if the lab failed (4). A law in `judged`, or a counted event type, that the lab cannot observe of
the target is listed and not required; without any observable law in `judged` the scenario is unknown. In `parity` a
lab *cannot* if it lacks an ability: the others are compared.
"""


def made() -> str:
    """The page."""
    lines = [
        HEAD,
        "| scenario | question | deployment | faults | laws | catches | s |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_row(library.shipped(name)) for name in library.names()]
    return "\n".join(lines) + "\n\n" + FORM + "\n".join(_operations()) + "\n"


def _operations() -> Iterator[str]:
    yield from ("", "## Operations", "")
    yield from (
        "| operation | effect | arguments and defaults | in a workload |",
        "|---|---|---|---|",
    )
    for name in steps():
        each = resolve.operations()[name]
        arguments = (
            f"`{key}`" + ("" if (of := usual(name).get(key)) is None else f" ({of})") for key in each.arguments
        )
        about = " ".join((each.__doc__ or "").replace("``", "`").split())
        yield f"| `{name}` | {about} | {', '.join(arguments)} | {'yes' if each.is_load else ''} |"


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
    """The scenario's deployment, in words."""
    roles = sorted({str(each.settings.get("brokerRole", "SYNC_MASTER")) for each in scenario.cases})
    slaves = sorted({topology.slaves(each.settings) for each in scenario.cases})
    parts = [" or ".join(roles), " or ".join(f"{count or 'no'} slave{'' if count == 1 else 's'}" for count in slaves)]
    parts += ["name server"] if any(topology.has_names(each.settings) for each in scenario.cases) else []
    parts += ["second broker name"] if any(topology.has_other(each.settings) for each in scenario.cases) else []
    return ", ".join(parts)


def seconds(scenario: Scenario) -> float:
    """Length of its longest case."""
    return max(timeline.length_ms(each) for each in scenario.cases) / 1000


def main(docs: Path) -> None:
    """Write the page into ``docs``."""
    (docs / PAGE).write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
