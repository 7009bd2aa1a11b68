"""The proxies and toxics of one toxiproxy-server: toxiproxy-python, with additions.

The library keeps the server's address in a class and its transport in a module, so both are set for one call, one call
at a time in this process. The own transport adds time limits, persistent connections, no HTTP proxy from the
environment, and errors for 5xx answers. The library answers from memory, so changes are read back from the server.
Calls that it lacks (one proxy instead of all, other attributes of a toxic) bypass it.

Every failure is a LabError of one line.

Source: Shopify/toxiproxy 2.12.0, ``api.go``, ``proxy.go``, ``link.go``. Left out: toxicity (always 1), metrics, and
another upstream for a proxy that exists.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from threading import Lock, RLock
from typing import Any, NamedTuple

import requests
from toxiproxy import Proxy as LibraryProxy
from toxiproxy import Toxiproxy
from toxiproxy import api as library
from toxiproxy.exceptions import ProxyExists

from ...harness.errors import LabError

HOST = "127.0.0.1"
LIMIT_S = 20.0
"""Time limit of one call. The server itself gives up after 25 s."""
IDLE_S = 30.0
"""Longest idle time of a reused connection: the server closes it after 60 s."""

DRAIN_S = 0.01
"""Time for released bytes to leave, and for the server to give up connections that end by that, or whose receiver is
dead.
"""
HARMLESS = {
    "latency": {"latency": 0, "jitter": 0},
    "slicer": {"average_size": 1 << 30, "delay": 0},
    "slow_close": {"delay": 0},
}
"""Attributes with which a toxic holds nothing. The server can crash if a ``bandwidth`` is changed while it waits, or
the ``size_variation`` of a ``slicer`` while it cuts.
"""
OFF_AND_ON = ("bandwidth", "reset_peer")
"""Toxics that hold bytes and can only be removed."""

STREAMS = {"up": "upstream", "down": "downstream"}
DIRECTIONS = {stream: direction for direction, stream in STREAMS.items()}

_turn = Lock()


class Toxic(NamedTuple):
    """A toxic on the server. ``attributes``: all of its type, under toxiproxy's names."""

    name: str
    kind: str
    direction: str
    attributes: Mapping[str, int]


class Proxy(NamedTuple):
    """A proxy on the server. ``toxics`` in the order of each direction, up before down."""

    name: str
    listen: str
    upstream: str
    enabled: bool
    toxics: tuple[Toxic, ...]


class Refused(Exception):
    """The server answered with this error."""


class Transport(requests.Session):
    """Replaces the module ``requests`` in toxiproxy-python."""

    def __init__(self, port: int, limit_s: float) -> None:
        super().__init__()
        self.trust_env = False
        self._port = port
        self._limit_s = limit_s
        self._used = time.monotonic()

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        """One request. LabError if there is no answer, :class:`Refused` for an error."""
        now = time.monotonic()
        if now - self._used > IDLE_S:
            self.close()
        self._used = now
        try:
            response = super().send(request, **{**more, "timeout": self._limit_s})
        except requests.Timeout:
            raise LabError(
                f"toxiproxy-server on port {self._port} does not answer within {self._limit_s:g} s"
            ) from None
        except requests.RequestException:
            raise LabError(f"toxiproxy-server died: nothing answers on port {self._port}") from None
        if response.status_code >= 400:
            raise Refused(_words(response))
        return response


def _words(response: requests.Response) -> str:
    try:
        return " ".join(str(response.json()["error"]).split())
    except (ValueError, KeyError, TypeError):
        return f"status {response.status_code}"


class Proxies:
    """The proxies of the server on a port, by default of loopback; ``limit_s`` for one call. Usable from any thread."""

    def __init__(self, port: int, limit_s: float = LIMIT_S, host: str = HOST) -> None:
        self.port = port
        self.host = host
        self._transport = Transport(port, limit_s)
        self._library = Toxiproxy()
        self._numbers = count(1)
        self._shaping = RLock()

    def close(self) -> None:
        self._transport.close()

    def version(self) -> str:
        with self._errors("tell its version"):
            return str(self._ask("/version")["version"])

    def names(self) -> list[str]:
        with self._call("list its proxies"):
            return sorted(self._library.proxies())

    def create(self, name: str, listen: str, upstream: str) -> Proxy:
        """A new proxy, enabled. ``listen``, ``upstream``: ``host:port``; the answer has the port chosen for 0."""
        with self._call(f"create proxy {name!r} on {listen}"):
            self._library.create(name=name, listen=listen, upstream=upstream)
        return self.get(name)

    def get(self, name: str) -> Proxy:
        with self._errors(f"show proxy {name!r}"):
            told = self._ask(f"/proxies/{name}")
            toxics = tuple(_toxic(each) for each in told["toxics"])
            return Proxy(told["name"], told["listen"], told["upstream"], told["enabled"], toxics)

    def enable(self, name: str) -> None:
        """It listens again; no effect if it does."""
        self._switch(name, True)

    def disable(self, name: str) -> None:
        """Its connections end with FIN (RST under ``reset_peer``), new ones are refused; no effect if it is
        disabled.
        """
        self._switch(name, False)

    def add_toxic(self, name: str, direction: str, kind: str, attributes: Mapping[str, int]) -> str:
        """Append a toxic to a proxy's direction (``up``, ``down``); returns its unique name.

        LabError also if the server did not accept an attribute.
        """
        if direction not in STREAMS:
            raise LabError(f"a link's directions are up and down, not {direction!r}")
        toxic = Toxic(f"{kind}-{direction}-{next(self._numbers)}", kind, direction, attributes)
        with self._shaping:
            self._put(name, toxic)
        return toxic.name

    def remove_toxic(self, name: str, toxic: str) -> None:
        """Remove a toxic. Bytes held by it, and by those before and behind it, are released first.

        A ``bandwidth`` or ``reset_peer`` behind it moves to the end of its direction; one that is about to reset is
        waited for. The receiver must be reading: bytes that cannot be forwarded within 5 s are lost.
        """
        with self._shaping:
            self._remove(name, toxic)

    def _remove(self, name: str, toxic: str) -> None:
        toxics = self.get(name).toxics
        found = next((each for each in toxics if each.name == toxic), None)
        if found is None:
            raise LabError(f"proxy {name!r} has no toxic {toxic!r}")
        chain = [each for each in toxics if each.direction == found.direction]
        behind = chain[chain.index(found) + 1 :]
        cushion = self._cushion(name, chain[-1], [found, *behind])
        # From the last to the first. A toxic that cannot forward its held bytes ignores the server, which would wait
        # for it for ever, and with it every call about this proxy. On a connection that is about to end, the server
        # confuses the toxics when one of them is removed, and may crash when another is added.
        for each in reversed([found, *behind]):
            if each.kind in HARMLESS:
                self._change(name, each, HARMLESS[each.kind])
                time.sleep(DRAIN_S)
            elif each.kind in OFF_AND_ON and each is not found:
                self._take_off(name, each.name)
                time.sleep(DRAIN_S)
        self._take_off(name, toxic)
        if cushion is not None:
            time.sleep(DRAIN_S)
            self._take_off(name, cushion)
        for each in behind:
            if each.kind in HARMLESS:
                self._change(name, each, each.attributes)
        for each in behind:
            if each.kind in OFF_AND_ON:
                self._put(name, each)

    def _cushion(self, name: str, last: Toxic, going: Sequence[Toxic]) -> str | None:
        """Put a toxic that accepts everything at once behind a ``bandwidth`` that is removed; returns its name.

        Without it the server would wait 5 s for each chunk that a dead receiver does not accept.
        """
        if last.kind == "latency" or all(each.kind != "bandwidth" for each in going):
            return None
        return self.add_toxic(name, last.direction, "latency", {"latency": 0})

    def clear(self, name: str) -> None:
        for toxic in reversed(self.get(name).toxics):
            self.remove_toxic(name, toxic.name)

    def _switch(self, name: str, enabled: bool) -> None:
        before = self.get(name)
        what = "enable" if enabled else "disable"
        with self._call(f"{what} proxy {name!r} on {before.listen}"):
            getattr(self._proxy(name), what)()
        if self.get(name).enabled is not enabled:
            raise LabError(f"toxiproxy-server did not {what} proxy {name!r} on {before.listen}")

    @contextmanager
    def _call(self, doing: str) -> Iterator[None]:
        """toxiproxy-python calls this server, through this transport."""
        with _turn, self._errors(doing):
            consumer = library.APIConsumer
            before = consumer.host, consumer.port, library.requests
            consumer.host, consumer.port, library.requests = self.host, self.port, self._transport
            try:
                yield
            finally:
                consumer.host, consumer.port, library.requests = before

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except Refused as why:
            raise LabError(f"toxiproxy-server cannot {doing}: {why}") from None
        except ProxyExists:
            raise LabError(f"toxiproxy-server cannot {doing}: there is one of that name") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LabError(f"the server on port {self.port} is not a toxiproxy-server") from None

    def _put(self, name: str, toxic: Toxic) -> None:
        with self._call(f"add toxic {toxic.kind!r} to proxy {name!r}"):
            self._proxy(name).add_toxic(
                name=toxic.name,
                type=toxic.kind,
                stream=STREAMS[toxic.direction],
                toxicity=1.0,
                attributes=dict(toxic.attributes),
            )
        found = next((each for each in self.get(name).toxics if each.name == toxic.name), None)
        if found is None or found._replace(attributes=toxic.attributes) != toxic:
            raise LabError(f"toxiproxy-server did not add toxic {toxic.kind!r} to proxy {name!r}")
        for key, value in toxic.attributes.items():
            if found.attributes.get(key) != value:
                self._take_off(name, toxic.name)
                raise LabError(f"toxic {toxic.kind!r} has no attribute {key!r}; it has {', '.join(found.attributes)}")

    def _take_off(self, name: str, toxic: str) -> None:
        # Past the library, where other servers' calls would wait for it.
        with self._errors(f"remove toxic {toxic!r} from proxy {name!r}"):
            self._transport.delete(self._url(f"/proxies/{name}/toxics/{toxic}"))

    def _change(self, name: str, toxic: Toxic, attributes: Mapping[str, int]) -> None:
        with self._errors(f"change toxic {toxic.name!r} of proxy {name!r}"):
            self._transport.patch(
                self._url(f"/proxies/{name}/toxics/{toxic.name}"), json={"attributes": dict(attributes)}
            )

    def _ask(self, path: str) -> Any:
        return self._transport.get(self._url(path)).json()

    def _url(self, path: str) -> str:
        return f"http://{self.host}:{self.port}{path}"

    @staticmethod
    def _proxy(name: str) -> Any:
        """The library's handle: only its name is used."""
        return LibraryProxy(name=name, upstream="", listen="", enabled=True)


def _toxic(told: Mapping[str, Any]) -> Toxic:
    return Toxic(told["name"], told["type"], DIRECTIONS[told["stream"]], dict(told["attributes"]))
