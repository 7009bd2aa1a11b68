"""A connection to the Docker engine: each call has a time limit, and every failure is a LabError of one line.

After one call has timed out the engine counts as dead: all later calls fail at once, so that closing a lab does not
time out for each of its containers. Another connection tries again.

Calls may come from any thread: each uses a client (a session with its connection) that no concurrent call uses, because
requests does not guarantee thread-safe sessions. There are as many clients as concurrent calls.

Left out: Docker's contexts (DOCKER_HOST names another engine), and Windows.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeVar

import docker
import requests
import urllib3

from ....harness.errors import LabError

API = (1, 41)
"""The oldest supported version, of engine 20.10; also the one in use, unless the engine requires a later one."""
ANSWER_S = 20.0
SOCKET = "/var/run/docker.sock"
SILENT = (
    docker.errors.DockerException, docker.errors.StreamParseError, requests.RequestException,
    urllib3.exceptions.HTTPError, OSError, ValueError,
)  # fmt: skip
"""Exceptions of the SDK for a missing or malformed answer, or a malformed DOCKER_HOST."""

T = TypeVar("T")


def is_expected() -> bool:
    """Whether an engine is expected: DOCKER_HOST is set, or the default socket exists."""
    return "DOCKER_HOST" in os.environ or Path(SOCKET).exists()


class Refused(LabError):
    """The engine refused. ``status`` is HTTP's."""

    def __init__(self, reason: str, status: int = 0) -> None:
        # Both: an exception of a worker is pickled for the harness.
        super().__init__(reason, status)
        self.reason = reason
        self.status = status

    def __str__(self) -> str:
        return self.reason


def _refused(what: str, why: docker.errors.APIError) -> Refused:
    status = int(why.status_code or 0)
    reason = " ".join(str(why.explanation or why).split())
    remedy = "; the engine's own log may say more" if status >= 500 else ""
    return Refused(f"the Docker engine cannot {what}: {reason}{remedy}", status)


class Connection:
    """To the engine that DOCKER_HOST names, otherwise to the one behind /var/run/docker.sock.

    LabError if none answers, access is denied, or it is too old.
    """

    def __init__(self) -> None:
        self.where = os.environ.get("DOCKER_HOST") or SOCKET
        self._idle: deque[Any] = deque()
        self._api = ""
        self._gone = ""
        found = self.ask("say its version", methodcaller("version", api_version=False))
        try:
            newest, oldest = _version(found["ApiVersion"]), _version(found["MinAPIVersion"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise LabError(f"the server at {self.where} is not a Docker engine: set DOCKER_HOST to one") from None
        if newest < API:
            raise LabError(f"the Docker engine at {self.where} is older than 20.10 (API 1.41): install a later one")
        self.close()
        self._api = "{}.{}".format(*max(API, oldest))

    def close(self) -> None:
        """Close unused connections; a later call opens one again."""
        while self._idle:
            self._idle.pop().close()

    def ask(self, what: str, do: Callable[[Any], T], limit_s: float = ANSWER_S) -> T:
        """Call the SDK's APIClient. ``what`` completes "cannot …"; ``limit_s``: longest silence of the engine.

        :class:`Refused` if it refuses, another LabError if it does not answer.
        """
        if self._gone:
            raise LabError(self._gone)
        client = None
        try:
            client = self._client()
            # Some calls of the SDK, such as pulls, have no timeout.
            client._set_request_timeout = lambda given: {**given, "timeout": limit_s}
            answer = do(client)
        except docker.errors.APIError as why:
            self._idle.append(client)
            raise _refused(what, why) from None
        except SILENT as why:
            if client is not None:
                client.close()
            raise LabError(self._silence(why, limit_s)) from None
        self._idle.append(client)
        return answer

    def remove(self, what: str, do: Callable[[Any], object]) -> None:
        """Like :meth:`ask`, but succeeds if the object is absent or another client removes it."""
        try:
            self.ask(what, do)
        except Refused as why:
            if why.status != 404 and "already in progress" not in str(why):
                raise

    def _client(self) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            made = docker.APIClient(**docker.utils.kwargs_from_env(), version=self._api or "1.41", timeout=ANSWER_S)
            # The environment's proxies and passwords are for other servers.
            made.trust_env = False
            return made

    def _silence(self, why: BaseException, limit_s: float) -> str:
        causes = list(_causes(why))
        first = causes[-1]
        if isinstance(first, PermissionError):
            return f"no permission for the Docker engine at {self.where}: join its group (docker), or be root"
        slow = any(isinstance(each, (TimeoutError, requests.Timeout)) for each in causes)
        strerror = first.strerror if isinstance(first, OSError) else None
        reason = f"not within {limit_s:g} s" if slow else strerror or " ".join(str(first).split())
        if not self._api:
            return f"no Docker engine answers at {self.where} ({reason}): start one, or set DOCKER_HOST to where it is"
        text = f"the Docker engine no longer answers: {reason}; check the engine, then run again"
        self._gone = text if slow else ""
        return text


def _causes(why: BaseException | None) -> Iterator[BaseException]:
    while why is not None:
        yield why
        why = why.__cause__ or why.__context__


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)
