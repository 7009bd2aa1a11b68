"""The parts of an exception that a history may quote: words of our code, the node's or the user's, not a library's.

Python's errors, and those of ``json`` and ``struct``, are worded differently in each version. A history that quoted
them would have another digest with another interpreter.
"""

from __future__ import annotations

import dis
import errno
import sys
from types import TracebackType

_RAISE = dis.opmap["RAISE_VARARGS"]


def own_words(why: BaseException) -> str:
    """The exception's text if a ``raise`` outside of Python's library made it; the missing key; the name of the
    system's error; else empty.
    """
    if isinstance(why, KeyError) and len(why.args) == 1:
        return repr(why.args[0])
    if isinstance(why, OSError) and why.errno is not None:
        return errno.errorcode.get(why.errno, "")
    return str(why) if _is_own(why.__traceback__) else ""


def quoted(why: BaseException) -> str:
    """The exception's class, and its own words if it has any."""
    words, kind = own_words(why), type(why)
    # struct and zlib call theirs just "error".
    name = f"{kind.__module__}.error" if kind.__name__ == "error" else kind.__name__
    return f"{name}: {words}" if words else name


def _is_own(trace: TracebackType | None) -> bool:
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    room = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    return room not in sys.stdlib_module_names and trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE
