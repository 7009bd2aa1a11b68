"""A connection to the Docker engine: each call has a time limit, and whatever fails is a LabError of one line.

An engine that has let one call run into its limit counts as gone: all later calls fail at once, so that giving a lab up
does not take a limit for each of its containers. Another connection asks anew.

Calls may come from any thread: each takes a client (a session with its connection) that no other call uses meanwhile,
because requests does not promise its sessions for several threads. There are as many as calls at one time.

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
"""The oldest that will do, of engine 20.10; the one that is spoken, too, unless the engine wants a later one."""
ANSWER_S = 20.0
SOCKET = "/var/run/docker.sock"
SILENT = (
    docker.errors.DockerException, docker.errors.StreamParseError, requests.RequestException,
    urllib3.exceptions.HTTPError, OSError, ValueError,
)  # fmt: skip
"""What the SDK raises where no answer comes, or an answer or DOCKER_HOST makes no sense."""

T = TypeVar("T")


def is_expected() -> bool:
    """Whether there should be an engine: one is named, or there is the usual one's socket."""
    return "DOCKER_HOST" in os.environ or Path(SOCKET).exists()


class Refused(LabError):
    """The engine answered that it will not. ``status`` is HTTP's."""

    def __init__(self, said: str, status: int = 0) -> None:
        # Both: what is raised in a worker comes to the harness pickled.
        super().__init__(said, status)
        self.said = said
        self.status = status

    def __str__(self) -> str:
        return self.said


def _refused(what: str, why: docker.errors.APIError) -> Refused:
    status = int(why.status_code or 0)
    said = " ".join(str(why.explanation or why).split())
    remedy = "; the engine's own log may say more" if status >= 500 else ""
    return Refused(f"the Docker engine cannot {what}: {said}{remedy}", status)


class Connection:
    """To the engine that DOCKER_HOST names, otherwise to the one behind /var/run/docker.sock.

    LabError where none answers, it may not be asked, or it is too old.
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
            raise LabError(f"what answers at {self.where} is not a Docker engine: set DOCKER_HOST to one") from None
        if newest < API:
            raise LabError(f"the Docker engine at {self.where} is older than 20.10 (API 1.41): install a later one")
        self.close()
        self._api = "{}.{}".format(*max(API, oldest))

    def close(self) -> None:
        """Close connections that are not in use; another call opens one again."""
        while self._idle:
            self._idle.pop().close()

    def ask(self, what: str, do: Callable[[Any], T], limit_s: float = ANSWER_S) -> T:
        """Call the SDK's APIClient. ``what`` completes "cannot …"; ``limit_s`` is how long the engine may be silent.

        :class:`Refused` if it will not, another LabError if it does not answer.
        """
        if self._gone:
            raise LabError(self._gone)
        client = None
        try:
            client = self._client()
            # The SDK lets some calls, pulling among them, wait for ever.
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
        """Like :meth:`ask`, where it is fine that there is nothing to remove, or that somebody else is at it."""
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
            # Proxies and passwords of the environment are for other servers.
            made.trust_env = False
            return made

    def _silence(self, why: BaseException, limit_s: float) -> str:
        """What to say of an engine that did not answer; remembers it if it was too slow."""
        causes = list(_causes(why))
        first = causes[-1]
        if isinstance(first, PermissionError):
            return f"no permission for the Docker engine at {self.where}: join its group (docker), or be root"
        slow = any(isinstance(each, (TimeoutError, requests.Timeout)) for each in causes)
        strerror = first.strerror if isinstance(first, OSError) else None
        said = f"not within {limit_s:g} s" if slow else strerror or " ".join(str(first).split())
        if not self._api:
            return f"no Docker engine answers at {self.where} ({said}): start one, or set DOCKER_HOST to where it is"
        text = f"the Docker engine does not answer any more: {said}; look after the engine, then run again"
        self._gone = text if slow else ""
        return text


def _causes(why: BaseException | None) -> Iterator[BaseException]:
    while why is not None:
        yield why
        why = why.__cause__ or why.__context__


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)
