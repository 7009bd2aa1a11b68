"""A process that ends with its parent: the first steps of a forked child before it becomes another program.

The kernel kills it (PR_SET_PDEATHSIG) however its parent ends. This survives exec, but not a set-user-id program, and
does not apply to the child's own children. The child leads its own session, so it gets no terminal signals; it inherits
no descriptor and no signal handling.
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
"""Exit status of a child that could not start."""
MAX_REASON = 16
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def fork(output: Path, become: Callable[[], int], keep: int = -1) -> int:
    """Start a child that runs ``become`` and exits with its result; returns the pid.

    Its output is appended to ``output``; of the other descriptors it has only ``keep``. OSError if it cannot start.
    """
    parent, log = os.getpid(), os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    pid = os.fork()
    if pid:
        os.close(log)
        return pid
    code = EXIT_LOST
    try:
        _detach(parent, log, keep)
        code = become()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        # No code of the parent may run here: neither its exit handlers nor those of its modules.
        os._exit(code)


def execute(output: Path, argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Start another program; returns its pid. OSError if it cannot start."""
    told, tells = os.pipe2(os.O_CLOEXEC)

    def become() -> int:
        # Python ignores these two signals; programs expect the default.
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


def _detach(parent: int, log: int, keep: int) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # The parent ended before the prctl call.
        os._exit(EXIT_LOST)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    for each in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if each > 2 and each != keep:
            # The list's own descriptor is closed already.
            with contextlib.suppress(OSError):
                os.close(each)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
