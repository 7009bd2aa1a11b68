"""A process that plays trials with changed modules: of one mutant, or as the control with probes.

It is told what to do as one JSON value on standard input, and answers with JSON lines on what was its standard output,
one as soon as each trial has ended: whatever ends the process, what it said before stays. The hook is installed before
anything is imported that could import a changed module.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from pathlib import Path
from time import process_time
from typing import Any, TextIO

from ...harness.errors import PairproofError
from . import hook

AFTER_CRASH, AFTER_CRASH_S = 40, 40
"""How many more trials a mutant may crash, and for how many CPU seconds: a law may object in them, too."""
TRIED, FAILED = "trial", "failed"


def main() -> None:
    """Do what standard input asks for."""
    said = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    # What mutated code prints is no answer.
    os.dup2(2, 1)
    task: dict[str, Any] = json.load(sys.stdin)
    if task["memory_bytes"]:
        resource.setrlimit(resource.RLIMIT_AS, (task["memory_bytes"], task["memory_bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _grant(task)
    try:
        (_control if task["do"] == "control" else _mutant)(task, said)
    except PairproofError as why:
        _say(said, {FAILED: str(why), "code": why.exit_code})
    except MemoryError:
        # A mutant took it.
        raise
    except Exception as why:
        # What else a mutant raises is caught where it is called.
        _say(said, {FAILED: f"{task['do']}: {_words(why)}", "code": PairproofError.exit_code})
    _say(said, {"done": True, "cpu_s": round(process_time(), 3)})
    # Threads and handlers of mutated code have nothing to say about the end.
    os._exit(0)


def _grant(task: dict[str, Any]) -> None:
    """CPU time for what comes next: the kernel ends the process where that takes longer."""
    soft = min(int(process_time()) + 1 + int(task["trial_s"]), int(task["cpu_s"]))
    resource.setrlimit(resource.RLIMIT_CPU, (soft, int(task["cpu_s"]) + 2))


def _say(to: TextIO, line: dict[str, object]) -> None:
    to.write(json.dumps(line) + "\n")


def _control(task: dict[str, Any], said: TextIO) -> None:
    reached: set[int] = set()
    asked: dict[str, dict[int, int]] = {}
    for identity, (module, number) in enumerate(task["places"]):
        asked.setdefault(module, {})[number] = identity
    hook.install({module: hook.probes(each) for module, each in asked.items()}, {hook.PROBE: reached.add})
    from . import reaching

    for line in reaching.recorded(task["lab"], task["target"], task["seed"], task["trials"], asked, reached):
        _say(said, line)


def _mutant(task: dict[str, Any], said: TextIO) -> None:
    hook.install({task["module"]: hook.mutant(task["number"])}, {})
    try:
        from .playing import Player

        play = Player(task["lab"], task["target"]).play
    except (Exception, SystemExit) as why:
        _say(said, {TRIED: None, "laws": {}, "crash": f"at import: {_words(why)}"})
        return
    left, ends_s = AFTER_CRASH, 0.0
    for trial in _trials(task["file"], task["numbers"]):
        _grant(task)
        try:
            laws, crash = play(trial["schedule"]), ""
        except KeyboardInterrupt:
            raise
        except BaseException as why:
            laws, crash = {}, _words(why)
        _say(said, {TRIED: trial["number"], "laws": laws, "crash": crash, "cpu_s": round(process_time(), 3)})
        if set(laws) - {task["crash_law"]}:
            return
        if laws or crash:
            ends_s = ends_s or process_time() + AFTER_CRASH_S
            left -= 1
            if left < 0 or process_time() > ends_s:
                return


def _trials(file: str, numbers: list[int]) -> list[dict[str, Any]]:
    wanted = set(numbers)
    found = {}
    with Path(file).open(encoding="utf-8") as lines:
        for at, line in enumerate(lines):
            if at in wanted:
                found[at] = json.loads(line)
    return [found[each] for each in numbers]


def _words(why: BaseException) -> str:
    """An exception in one line, with the place that raised it."""
    frames = traceback.extract_tb(why.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(why).__name__}: {' '.join(str(why).split())[:200]}{where}"
