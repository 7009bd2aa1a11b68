"""An engine without containers: an HTTP server on a unix socket that answers what a test says, or does not."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any, Self
from urllib.parse import parse_qsl

VERSION = {"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12"}
HANGS = "hangs"
CLOSES = "closes"
BREAKS_OFF = "breaks off"
"""An answer in pieces of which the last one never comes."""


def told(*progress: Any) -> bytes:
    """An answer in pieces, as pulling and building are told."""
    lines = [json.dumps(each).encode() + b"\n" for each in progress]
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in lines)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"


class FakeEngine:
    """``answers``: what to a request whose "METHOD /path" (without the version) a pattern matches; the last one counts.

    A status and an object for JSON, bytes for the whole answer, one of the words above, or what returns one of these.
    ``asked``: the requests; ``paths``: with the version; ``queries``: their arguments; ``bodies``: the JSON sent.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked: list[str] = []
        self.paths: list[str] = []
        self.queries: list[dict[str, str]] = []
        self.bodies: list[Any] = []
        self.answers: dict[str, Any] = {"GET /version": (200, VERSION)}
        self._over = threading.Event()
        self._server = _Server(str(path), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._over.is_set():
            self.stop()

    def stop(self) -> None:
        """Gone: all connections are closed, and the socket file is nobody's."""
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: str) -> Any:
        self.asked.append(request)
        fitting = [each for pattern, each in self.answers.items() if re.fullmatch(pattern, request)]
        found = fitting[-1] if fitting else None
        return found() if callable(found) else found or (404, {"message": f"nothing at {request}"})

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def hang(self) -> None:
        self._over.wait(30)


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    block_on_close = False


def _handler(fake: FakeEngine) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.close_connection = True
            if fake.is_over:
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if body.startswith(b"{"):
                fake.bodies.append(json.loads(body))
            path = re.sub(r"^/v[\d.]+", "", self.path.partition("?")[0])
            fake.paths.append(self.path.partition("?")[0])
            fake.queries.append(dict(parse_qsl(self.path.partition("?")[2])))
            found = fake.answer(f"{self.command} {path}")
            if found == HANGS:
                fake.hang()
            elif found == BREAKS_OFF:
                self.wfile.write(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"a": 1}\n\r\n9\r\n{"a"')
            elif isinstance(found, bytes):
                self.wfile.write(found)
            elif found != CLOSES:
                status, content = found
                text = b"" if status == 204 else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                self.close_connection = False

        do_GET = do_POST = do_DELETE = answer

        def address_string(self) -> str:
            return "unix"

        def log_message(self, *_: object) -> None:
            pass

    return Handler
