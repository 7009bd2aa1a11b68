"""compose.yaml, toxiproxy.json and pair/*.conf agree with one another; each rule beside files that break it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from pairproof.harness.rocketmq import topology
from pairproof.reference.shell import properties
from pairproof.reference.shell.settings import name_settings, settings

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "compose"
TOXIPROXY = "toxiproxy"
API = 8474
FAST_BELOW = 2
HA_ABOVE = 1


class Files(NamedTuple):
    """What is compared. ``proxies``: by name, as toxiproxy.json has them."""

    compose: dict[str, Any]
    proxies: dict[str, dict[str, Any]]
    listens: dict[str, int]
    """By node, the main port of its properties file."""


def read() -> Files:
    listens = {}
    for node in topology.PROCESSES:
        values = properties.read(COMPOSE / "pair" / f"{node}.conf")
        listens[node] = name_settings(values).port if node == topology.NAMES else settings(values).config.listenPort
    proxies = json.loads((COMPOSE / "toxiproxy.json").read_text())
    return Files(
        yaml.safe_load((COMPOSE / "compose.yaml").read_text()), {each["name"]: each for each in proxies}, listens
    )


def port(address: str) -> int:
    return int(address.rpartition(":")[2])


def published(files: Files) -> dict[int, str]:
    """By port of toxiproxy's container: where it is published, variables as they stand."""
    entries = (each.rpartition(":") for each in files.compose["services"][TOXIPROXY]["ports"])
    return {int(inside): outside for outside, _, inside in entries}


def defaults(text: str) -> str:
    """Without variables: their defaults."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def of_clients() -> list[str]:
    return [each for each in topology.LINKS if each.startswith("client-")]


def service_faults(files: Files) -> Iterator[str]:
    services = files.compose["services"]
    if set(services) != {TOXIPROXY, *topology.PROCESSES}:
        yield "services are not toxiproxy and the nodes"
        return
    if {name for name, each in services.items() if "profiles" not in each} != {TOXIPROXY, "names", "master", "slave"}:
        yield "what runs without a profile is not a pair"
    if [name for name, each in services.items() if "ports" in each] != [TOXIPROXY]:
        yield "more than toxiproxy is published"
    if not all(each.startswith("127.0.0.1:") for each in services[TOXIPROXY]["ports"]):
        yield "something is published to other machines"
    if files.compose["networks"]["cluster"] != {"internal": True}:
        yield "the nodes' network has a way out"
    for name, each in services.items():
        if name != TOXIPROXY and each["networks"] != ["cluster"]:
            yield f"{name} is on another network"
        if not {"healthcheck", "labels", "mem_limit", "pids_limit", "stop_grace_period"} <= set(each):
            yield f"{name} lacks a limit, a label or a health check"
        if each.get("cap_drop") != ["ALL"] or not each.get("read_only"):
            yield f"{name} may do more than it must"
    for name in (*topology.NODES, topology.OTHER):
        if services[name].get("volumes") != [f"{name}:/store"] or name not in files.compose["volumes"]:
            yield f"{name} has no store of its own"
    for name, listens in files.listens.items():
        if f"/{listens}" not in services[name]["healthcheck"]["test"][-1]:
            yield f"{name} is asked for its health where it does not listen"


def upstreams(files: Files) -> dict[str, str]:
    """Where each link must lead."""
    listens = files.listens
    master = listens[topology.MASTER]
    found = {link: f"{link.removeprefix('client-')}:{listens[link.removeprefix('client-')]}" for link in of_clients()}
    found |= dict.fromkeys(topology.HA_LINKS, f"{topology.MASTER}:{master + HA_ABOVE}")
    found |= dict.fromkeys(topology.META_LINKS, f"{topology.MASTER}:{master}")
    found |= dict.fromkeys(topology.FAST_LINKS, f"{topology.MASTER}:{master - FAST_BELOW}")
    return found | {topology.NAMES_CLIENT: f"{topology.NAMES}:{listens[topology.NAMES]}"}


def proxy_faults(files: Files) -> Iterator[str]:
    proxies = files.proxies
    if sorted(proxies) != sorted(topology.LINKS):
        yield "proxies are not the links"
        return
    for link, upstream in upstreams(files).items():
        if proxies[link]["upstream"] != upstream:
            yield f"{link} does not lead to {upstream}"
    ports = [port(each["listen"]) for each in proxies.values()]
    if len(set(ports)) != len(ports):
        yield "two proxies listen on one port"
    if not all(each["listen"].startswith("0.0.0.0:") and each["enabled"] for each in proxies.values()):
        yield "a proxy is not reached by its clients"
    askers = [each["upstream"] for link, each in proxies.items() if "names" in link]
    if len(set(askers)) != len(askers) or not all(each.startswith("names:") for each in askers):
        yield "two askers share a port of the name server"
    for meta, fast in zip(topology.META_LINKS, topology.FAST_LINKS, strict=True):
        if port(proxies[fast]["listen"]) != port(proxies[meta]["listen"]) - FAST_BELOW:
            yield f"{fast} is not where a slave looks for it, {FAST_BELOW} below {meta}"


def client_faults(files: Files) -> Iterator[str]:
    outside = published(files)
    proxies = files.proxies
    inside = {link: port(proxies[link]["listen"]) for link in [*of_clients(), topology.NAMES_CLIENT]}
    if set(outside) != {API, *inside.values()}:
        yield "published are not toxiproxy's API and the links of clients"
        return
    node, *told = files.compose["services"][topology.NAMES]["command"]
    if node != topology.NAMES or sorted(told) != sorted(f"{link}={outside[inside[link]]}" for link in of_clients()):
        yield "clients are told of other addresses than those that are published"
    for link in of_clients():
        listens = files.listens[link.removeprefix("client-")]
        if port(defaults(outside[inside[link]])) != listens:
            yield f"{link} is published elsewhere than messages' ids say"


def faults(files: Files) -> list[str]:
    return [*service_faults(files), *proxy_faults(files), *client_faults(files)]


def test_services_are_the_nodes_and_proxies_the_links_and_all_agree_on_ports() -> None:
    assert faults(read()) == []


def services(files: Files) -> Any:
    return files.compose["services"]


BROKEN: list[tuple[str, Callable[[Files], object]]] = [
    ("services are not", lambda f: services(f).pop("slave3")),
    ("without a profile", lambda f: services(f)["slave2"].pop("profiles")),
    ("more than toxiproxy", lambda f: services(f)["master"].update(ports=["127.0.0.1:10912:10912"])),
    ("to other machines", lambda f: services(f)[TOXIPROXY].update(ports=["8474:8474"])),
    ("a way out", lambda f: f.compose["networks"].update(cluster={})),
    ("slave is on another", lambda f: services(f)["slave"].update(networks=["cluster", "edge"])),
    ("names lacks a limit", lambda f: services(f)["names"].pop("mem_limit")),
    ("master may do more", lambda f: services(f)["master"].update(cap_drop=[])),
    ("slave has no store", lambda f: services(f)["slave"].update(volumes=["master:/store"])),
    ("slave is asked for its health", lambda f: f.listens.update(slave=10999)),
    ("proxies are not the links", lambda f: f.proxies.pop("meta-fast3")),
    ("ha does not lead to", lambda f: f.proxies["ha"].update(upstream="slave:10912")),
    ("on one port", lambda f: f.proxies["ha2"].update(listen="0.0.0.0:12912")),
    ("not reached", lambda f: f.proxies["ha2"].update(listen="127.0.0.1:13912")),
    ("two askers", lambda f: f.proxies["names-slave"].update(upstream="names:9877")),
    ("two askers", lambda f: f.proxies["names-slave"].update(upstream="master:9878")),
    ("meta-fast is not where", lambda f: f.proxies["meta-fast"].update(listen="0.0.0.0:12908")),
    ("published are not", lambda f: services(f)[TOXIPROXY]["ports"].append("127.0.0.1:12912:12912")),
    ("told of other addresses", lambda f: services(f)["names"]["command"].pop()),
    ("messages' ids", lambda f: f.listens.update(master=10999)),
]


@pytest.mark.parametrize(("words", "breaks"), BROKEN, ids=[words for words, _ in BROKEN])
def test_what_does_not_agree_is_noticed(words: str, breaks: Callable[[Files], object]) -> None:
    files = deepcopy(read())
    breaks(files)
    assert [each for each in faults(files) if words in each], faults(files)


def left_out(dockerfile: str, ignore: str) -> list[str]:
    """What a Dockerfile copies and its ignore file does not let through."""
    copied = [each for line in re.findall(r"^COPY (.*)$", dockerfile, re.MULTILINE) for each in line.split()[:-1]]
    allowed = re.findall(r"^!(\S+)$", ignore, re.MULTILINE)
    return [each for each in copied if each not in allowed]


def test_builders_are_given_what_the_images_are_made_of() -> None:
    of_all = ROOT / ".dockerignore"
    for name, ignore in (
        ("node", of_all if of_all.exists() else COMPOSE / "node.Dockerfile.dockerignore"),
        ("toxiproxy", COMPOSE / "toxiproxy.Dockerfile.dockerignore"),
    ):
        assert left_out((COMPOSE / f"{name}.Dockerfile").read_text(), ignore.read_text()) == []
    assert left_out("COPY a b c/\nCOPY d e\n", "*\n!a\n!d\n") == ["b"]
