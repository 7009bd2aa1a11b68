"""Makes ``docs/scenarios.md`` from the scenarios' files; ``python -m pairproof.chaos.scenarios.page [DOCS]`` writes it.

A test compares the page with its source.
"""

import re
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

A scenario is a YAML file: settings, a workload, timed faults and what is expected. The same file runs in every lab,
and all laws check every trial.

    pairproof chaos list
    pairproof chaos show cut-under-sync-send
    pairproof chaos run cut-under-sync-send --lab process
    pairproof chaos run --all --lab docker --jobs 4
    pairproof chaos run my-scenario.yaml --repeat 10
    pairproof chaos parity --all

## Shipped scenarios

`pairproof chaos show NAME` prints the whole description. *s*: seconds of one trial, without the settling at its end.
Tests prove which mutants of the reference each scenario kills (`catches` in its file).
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

- `target`: the target whose settings the scenario uses, if not RocketMQ.
- `settings`: RocketMQ's keys and values, and the pair's: `lab.slaves`, `lab.nameServer` (consumers need one),
  `lab.others` (1: a master of another name, 2: of this one), `lab.haMasterAddress`; `lab.slaveFileSize` and
  `lab.slaveMemory` (the slaves' `mappedFileSizeCommitLog` and `totalMemory`, if not the master's);
  `lab.connectBrokerByUser` and `lab.defaultBrokerId` (consumers whose user fixes the broker to read from);
  `lab.sendTimeoutMs` (producers' timeout, default 10 s; ordered sends may take longer); `lab.pullMessages` (messages
  per pull, default 32). Simulation only: `lab.gatherMicros` joins what one end sends within that time, `lab.spread: 10`
  draws latencies and flushes from a tenth to ten times the usual, and `lab.absentNameServers` gives brokers and clients
  two name servers of which the first (1) or the second (2) does not exist. Targets with their own version leave out
  cases of another `rocketmqVersion`.
- A step begins `at` a time, `after` the end of the previous step, or after the n-th send (`after_sends`). A fault
  lasts `for` a time, until `heal` names it, or to the end. `pairproof labs` lists faults and arguments,
  [history.md](history.md) the event types.
- Other steps are operations (below). An `await` stops the workload while it waits.
- Faults and steps need abilities (`pairproof labs`). If the lab lacks one, `--all` leaves the scenario out and
  reports it; a scenario named on the command line is played without that part and counts as skipped.
- `before`, `during` and `after` count events in relation to the fault with that id.
- `costs` counts messages answered PUT_OK before a fault that took a broker away: `lost` (on no broker at the end),
  `stranded` (only on a slave), `readable` (delivered during the fault), `unavailable` (the rest); and sends during
  it: `tried`, `accepted` (PUT_OK), only `stored`.
- `expect` may be a list. An entry with `when` counts for some targets only: `when: "<5"` by version (`5.5.0`,
  `4.9.3..4.9.7`), `when: bare-connection-counts` by [known deviation](decisions/0053-known-deviations.md), or both:
  `when: "<5, not bare-connection-counts"`.
- `violated` lists laws that a target with a seeded bug must break. `differs` explains why labs may disagree about a
  law.

Verdicts and exit codes: *violated* (a law) and *unmet* (an expectation), 1; *unknown* (a law could not decide, a
fault had no effect, or a law in `judged` had nothing to judge) and *skipped* (the lab lacks an ability), 3; *failed*
(the lab), 4. Laws in `judged` and counted event types that the lab cannot observe of the target are listed and not
required; with no observable law in `judged` the scenario is unknown. `parity` compares the labs that have the
abilities.
"""


def made() -> str:
    """The page."""
    lines = [
        HEAD,
        "| scenario | what happens | deployment | faults | laws | s |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_row(library.shipped(name)) for name in library.names()]
    return "\n".join(lines) + "\n\n" + FORM + "\n".join(_operations()) + "\n"


def _operations() -> Iterator[str]:
    yield from ("", "## Operations", "")
    yield from (
        "| operation | what it does | arguments (defaults) | in a workload |",
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
        re.split(r"(?<=\.) (?=[A-Z(])", scenario.about)[0],
        deployment(scenario),
        ", ".join(sorted(faults)) or "none",
        ", ".join(sorted(judged)),
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


if __name__ == "__main__":
    folder = Path(sys.argv[1] if sys.argv[1:] else "docs")
    (folder / PAGE).write_text(made(), encoding="utf-8")
