"""A process that ends with the one that started it: what a forked child does before it becomes something else.

The kernel kills it (PR_SET_PDEATHSIG) when its parent ends, however that ends; this survives exec, but not a
set-user-id program, and does not reach the child's own children. It leads a session of its own, so no terminal signals
it; no descriptor and no signal handling of its parent's stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

EXIT_LOST = 70
"""Of a child that could not even begin."""
MAX_REASON = 16
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def fork(output: Path, become: Callable[[], int], keep: int = -1) -> int:
    """Start a child that runs ``become`` and exits with what that returns; its pid.

    What it says is added to ``output``; of the other descriptors it has only ``keep``. OSError if it cannot be started.
    """
    parent, said = os.getpid(), os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    pid = os.fork()
    if pid:
        os.close(said)
        return pid
    code = EXIT_LOST
    try:
        _detach(parent, said, keep)
        code = become()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        # Nothing of the parent's may run here: neither its exit handlers nor those of its modules.
        os._exit(code)


def execute(output: Path, argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Start another program; its pid. OSError if it cannot be started."""
    told, tells = os.pipe2(os.O_CLOEXEC)

    def become() -> int:
        # Python ignores these two; programs expect that nobody does.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvpe(argv[0], list(argv), environment)
        except OSError as why:
            os.write(tells, str(why.errno).encode())
        return EXIT_LOST

    try:
        pid = fork(output, become, tells)
    finally:
        os.close(tells)
    with os.fdopen(told, "rb") as reader:
        # Exec closes the other end, and so does the end of the child.
        number = reader.read(MAX_REASON)
    if number:
        os.waitpid(pid, 0)
        raise OSError(int(number), os.strerror(int(number)), argv[0])
    return pid


def _detach(parent: int, said: int, keep: int) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # It ended before the kernel was told.
        os._exit(EXIT_LOST)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(said, 1)
    os.dup2(said, 2)
    for each in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if each > 2 and each != keep:
            # One of them was the list's own, and is closed already.
            with contextlib.suppress(OSError):
                os.close(each)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
