"""A finding's steps for people without pairproof: one script with the brokers' files and a Java program.

It starts RocketMQ's own name server and brokers from a release's jars, and plays the program's administrators
(mqadmin), producers and consumers (``Steps.java``), kills, stops and pauses, one after the other. A step that needs a
lab, such as a fault of a link or a disk, becomes a comment that says so. A trial without a name server gets one here,
since RocketMQ's clients need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from shlex import quote
from types import MappingProxyType
from typing import Any

from ...harness.rocketmq import topology
from ...harness.rocketmq.operations.join import BROADCASTING, ORDERLY
from ...harness.rocketmq.operations.scope import BY_TAG, FALTERING, SMALL
from ...harness.trials.schedule import Op, as_text
from .provision import QUEUES, TOPIC
from .recreating import BROKERS, Job
from .recreating import QUEUES as MADE_QUEUES

SCRIPT = "by-hand.sh"
PORTS = {topology.MASTER: 10_911, topology.SLAVES[0]: 20_911}
HOST, NAMES = "127.0.0.1", "127.0.0.1:9876"
SAVED_S = 25
"""By then brokers have registered, and saved and copied their tables, with default periods."""
DOWN: Mapping[str, tuple[str, str]] = MappingProxyType({
    "kill": ("signal KILL {0}; ended {0}", "start {}"),
    "restart": ("signal TERM {0}; ended {0}", "start {}"),
    "pause": ("signal STOP {}", "signal CONT {}"),
    "wipe": ("signal KILL {0}; ended {0}; rm -r {0}", "start {}"),
})  # fmt: skip
"""Faults of a node that a shell can cause, and their ends."""
OWN = frozenset(("listenPort", "haListenPort", "brokerIP1", "brokerIP2", "bindAddress", "namesrvAddr"))
HEAD = """#!/bin/sh
# {title}
# Usage: sh {script} LIB, the folder with the jars of RocketMQ {version}. Needs a JDK (11 or later). Writes to the
# folder run beside it, and listens on {host}.
set -u
LIB=${{1:?usage: sh {script} LIB}}
cd "$(dirname "$0")" && rm -rf run && mkdir -p run/conf && cd run || exit 1
for each in broker namesrv tools; do echo '<configuration/>' > conf/logback_$each.xml; done
FLAGS="-Xms128m -Xmx256m -XX:MaxDirectMemorySize=256m -XX:+UseSerialGC -Duser.home=$PWD -Drocketmq.home.dir=$PWD
  -Drmq.logback.configurationFile=$PWD/conf/logback_broker.xml
  -Drocketmq.broker.diskSpaceWarningLevelRatio=0.99 -Drocketmq.namesrv.addr={names}
  --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED"
start() {{
  case $1 in names) main=namesrv.NamesrvStartup ;; *) main=broker.BrokerStartup ;; esac
  java $FLAGS -cp "$LIB/*" org.apache.rocketmq.$main -c "$1.conf" > "$1.out" 2>&1 & echo $! > "$1.pid"
  for each in $(seq 120); do grep -q 'boot success' "$1.out" && return; sleep 0.5; done
  echo "$1 did not start:" && cat "$1.out"
}}
signal() {{ kill -s "$1" "$(cat "$2.pid")"; }}
ended() {{ while kill -s 0 "$(cat "$1.pid")" 2> /dev/null; do sleep 0.1; done; }}
admin() {{
  echo "mqadmin $*"
  java $FLAGS -cp "$LIB/*" org.apache.rocketmq.tools.command.MQAdminStartup "$@" -n {names} 2>&1 | grep -v WARN
}}
send() {{ java $FLAGS -cp "$LIB/*" Steps.java send {topic} "$@"; }}
consume() {{ java $FLAGS -cp "$LIB/*" Steps.java consume {topic} "$@" & echo $! > "$1-$CONSUMER.pid"; sleep 5; }}
trap 'for each in *.pid; do kill -s KILL "$(cat "$each")" 2> /dev/null; done' EXIT
"""
TAIL = """
# What the brokers have now.
sleep {saved}
for each in topics subscriptionGroup consumerOffset delayOffset; do
  for node in master slave; do echo "$each.json of the $node: $(cat $node/config/$each.json | tr -d '[:space:]')"; done
done
admin topicStatus -t {topic}
"""


def script(
    title: str, version: str, ops: Sequence[Op], configurations: Mapping[str, str], usual: Mapping[str, str],
    words: Callable[[Op], str],
) -> str:  # fmt: skip
    """The script. ``configurations``: the brokers' files in the lab; ``usual``: the release's defaults; ``words``: an
    operation in words.
    """
    nodes = [node for node in PORTS if node in configurations]
    found = {f"{node}.conf": _configuration(node, configurations[node], usual) for node in nodes}
    found |= {
        f"{topology.NAMES}.conf": f"listenPort={NAMES.rpartition(':')[2]}\nbindAddress={HOST}\n",
        "Steps.java": resources.files(__package__).joinpath("Steps.java").read_text("utf-8"),
    }
    head = HEAD.format(
        title=" ".join(title.split()), script=SCRIPT, version=version, host=HOST, names=NAMES, topic=TOPIC
    )
    files = "\n".join(f"cat > {name} <<'END'\n{text}END" for name, text in found.items())
    starts = [f"start {each}" for each in (topology.NAMES, *nodes)]
    topic = f"admin updateTopic -b {_at(topology.MASTER)} -t {TOPIC} -r {QUEUES} -w {QUEUES}"
    lines = [*starts, topic, f"sleep {SAVED_S}", "", *_steps(ops, words)]
    return "\n".join([head, files, "", *lines, TAIL.format(saved=SAVED_S, topic=TOPIC)])


def _configuration(node: str, text: str, usual: Mapping[str, str]) -> str:
    """A broker's file without defaults, with fixed ports and relative paths."""
    pairs = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    own: dict[str, object] = {
        "listenPort": PORTS[node], "haListenPort": PORTS[node] + 1, "brokerIP1": HOST, "bindAddress": HOST,
        "namesrvAddr": NAMES, "storePathRootDir": node, "storePathCommitLog": f"{node}/commitlog",
    }  # fmt: skip
    if "haMasterAddress" in pairs:
        own["haMasterAddress"] = f"{HOST}:{PORTS[topology.MASTER] + 1}"
    left_out = {key for key in pairs if key in OWN or key.startswith("storePath") or usual.get(key) == pairs[key]}
    kept = {key: value for key, value in pairs.items() if key not in left_out}
    return "".join(f"{key}={value}\n" for key, value in {**kept, **own}.items())


def _steps(ops: Sequence[Op], words: Callable[[Op], str]) -> Iterator[str]:
    """The lines of the operations, and of the ends of faults that the program leaves active."""
    active: list[Op] = []
    for op in ops:
        if op.do == "heal":
            ended = [each for each in active if each.args.get("name") == op.args.get("name")][:1]
            active = [each for each in active if each not in ended]
            found = [_fault(each, ends=True) for each in ended]
        else:
            active += [op] if op.do == "fault" else []
            found = [_fault(op, ends=False) if op.do == "fault" else _line(op)]
        yield from (each or f"# Not possible by hand: {' '.join(words(op).split())}" for each in found)
    yield from filter(None, (_fault(each, ends=True) for each in active))


def _fault(op: Op, ends: bool) -> str:
    """A fault's begin or end; empty if it needs a lab."""
    node = str(op.args.get("node", ""))
    is_possible = op.args.get("name") in DOWN and node in (*PORTS, topology.NAMES)
    return DOWN[str(op.args["name"])][ends].format(node) if is_possible else ""


def _line(op: Op) -> str:
    """The line of another operation; empty if RocketMQ's own clients and tools cannot do it."""
    a: Mapping[str, Any] = op.args
    match op.do:
        case "advance":
            return f"sleep {int(a['ms']) / 1_000:g}"
        case "send" | "batch":
            return f"send {a['queue']} {a['size']} {a.get('count', 1)} 0 {as_text(a['wait'])}"
        case "delayed":
            return f"send {a['queue']} {SMALL} 1 {a['level']} true"
        case "join":
            group = int(a["group"])
            mode = "broadcasting" if group >= BROADCASTING else "orderly" if group >= ORDERLY else "clustering"
            return f"CONSUMER={a['consumer']} consume g{group} {mode} {quote(BY_TAG.get(group, '*'))} 0 0 0 16"
        case "fail_consume":
            return (
                f"CONSUMER={a['consumer']} consume g{FALTERING} clustering '*' {a['every']} {a['times']} {a['level']} "
                f"{a['most']}"
            )
        case "leave":
            return f"signal {'KILL' if a['lost'] else 'TERM'} g{a['group']}-{a['consumer']}"
        case "reset":
            return f"admin resetOffsetByTime -g g{a['group']} -t {TOPIC} -s 0 -f true"
    return "; ".join(_administered(op.do, a)) if a.get("node") in PORTS else ""


def _administered(do: str, a: Mapping[str, Any]) -> Iterator[str]:
    """The calls of mqadmin for an administrator's operation; none for another operation."""
    at = _at(str(a["node"]))
    if do == "topic":
        name, reads = TOPIC if a.get("used") else f"t{a['number']}", a.get("reads") or a["queues"]
        yield f"admin updateTopic -b {at} -t {name} -w {a['queues']} -r {reads} -p {a.get('perm', 6)}"
    elif do == "group":
        usual = {"s": ("enabled", True), "m": ("from_min", True), "d": ("broadcasting", True), "q": ("retry_queues", 1),
                 "r": ("retries", 16), "a": ("notified", True), "i": ("broker", 0), "w": ("slowly", 1)}  # fmt: skip
        flags = " ".join(f"-{flag} {as_text(a.get(key, value))}" for flag, (key, value) in usual.items())
        yield f"admin updateSubGroup -b {at} -g g{a['group']} {flags}"
    elif do == "recreate":
        yield from _recreated(a, at)


def _recreated(a: Mapping[str, Any], at: str) -> Iterator[str]:
    job = Job(a["what"], a["number"], a["steps"], a["node"], bool(a.get("used")))
    for done in range(job.steps):
        if job.what == "topic" and done == 1:
            yield f"admin deleteTopic -c DefaultCluster -t {job.name}"
        elif job.what == "topic":
            yield f"admin updateTopic -b {at} -t {job.name} -w {MADE_QUEUES[done // 2]} -r {MADE_QUEUES[done // 2]}"
        elif done == 1:
            yield f"admin deleteSubGroup -b {at} -g {job.name}{' -r true' if job.number % 2 else ''}"
        else:
            broker, slowly = BROKERS[done // 2]
            yield f"admin updateSubGroup -b {at} -g {job.name} -i {broker} -w {slowly}"


def _at(node: str) -> str:
    return f"{HOST}:{PORTS[node]}"
