"""A fault at every link of a node touches the node and its links, and no other fault touches more than its place."""

from __future__ import annotations

import pytest

from pairproof.harness.event_types.machine import Fault
from pairproof.harness.judging.disturbances import EVERY_LINK, Disturbances
from pairproof.harness.rocketmq import topology
from pairproof.harness.trials.schedule import Args


def fault(status: str, t: int, link: str | None, node: str | None = "slave") -> Fault:
    return Fault(t, t, "fault", node, link=link, op=0, f="any", status=status)


@pytest.mark.parametrize("place", ["slave", "ha", "client-slave", "names-slave", "meta", "meta-fast"])
def test_all_links_of_a_node_are_struck_and_then_quiet_again(place: str) -> None:
    disturbances = Disturbances(topology.links_of)
    disturbances.fault(fault("on", 5, EVERY_LINK))
    assert disturbances.is_disturbed(place, "nowhere") and not disturbances.is_unaffected(place, 4)
    disturbances.fault(fault("off", 9, EVERY_LINK))
    assert (
        not disturbances.is_disturbed(place)
        and not disturbances.is_unaffected(place, 9)
        and disturbances.is_unaffected(place, 10)
    )


@pytest.mark.parametrize("place", ["master", "ha2", "client-master", "names-client", ""])
def test_links_of_other_nodes_are_not(place: str) -> None:
    disturbances = Disturbances(topology.links_of)
    disturbances.fault(fault("on", 5, EVERY_LINK))
    assert disturbances.is_unaffected(place, 0) and not disturbances.is_disturbed(place)


def test_a_node_with_a_fault_at_every_link_stands_still_until_the_last_thing_lets_it_go_on() -> None:
    disturbances = Disturbances(topology.links_of)
    disturbances.fault(fault("on", 5, "ha"))
    assert not disturbances.is_unavailable("slave")
    disturbances.fault(fault("on", 10, EVERY_LINK)._replace(op=1))
    disturbances.pause("slave", 20)
    disturbances.fault(fault("off", 30, EVERY_LINK)._replace(op=1))
    assert disturbances.is_unavailable("slave") and disturbances.unavailable_ns("slave", 0, 35) == 25
    disturbances.resume("slave", 40)
    assert not disturbances.is_unavailable("slave") and disturbances.unavailable_ns("slave", 0, 99) == 30
    disturbances.resume("slave", 50)
    assert disturbances.unavailable_ns("slave", 0, 99) == 30


def test_a_node_that_stands_still_later_did_not_do_so_before() -> None:
    disturbances = Disturbances(topology.links_of)
    for begin, end in ((20, 30), (60, 90)):
        disturbances.pause("master", begin)
        disturbances.resume("master", end)
    assert [disturbances.unavailable_ns("master", 0, until) for until in (10, 25, 50, 70, 99)] == [0, 5, 10, 20, 40]
    assert disturbances.unavailable_ns("master", 40, 50) == 0


def test_another_fault_touches_the_place_that_it_names_alone() -> None:
    touched = Disturbances(topology.links_of).affected
    assert touched(fault("on", 5, None)) == {"slave"}
    assert touched(fault("on", 5, "ha", None)) == {"ha"}
    assert touched(fault("on", 5, None, None)) == {""}
    assert touched(fault("on", 5, EVERY_LINK, "a third party's")) == {"a third party's"}


def test_every_link_that_is_no_clients_has_two_ends() -> None:
    ends = {link: [node for node in topology.PROCESSES if link in topology.links_of(node)] for link in topology.LINKS}
    of_clients = {*topology.CLIENT_LINKS, topology.NAMES_CLIENT, "client-other"}
    assert {link: len(nodes) for link, nodes in ends.items()} == {
        link: 1 if link in of_clients else 2 for link in topology.LINKS
    }


def test_only_arguments_that_name_places_are_replaced_by_similar_ones() -> None:
    args: Args = {"name": "replace", "node": "slave2", "image": "other"}
    assert topology.within(args, {}) == {"name": "replace", "node": "slave", "image": "other"}
    assert topology.within({"name": "kill", "node": "other"}, {}) == {"name": "kill", "node": "master"}


def test_places_are_undisturbed_when_no_fault_touched_them_and_no_node_stood_still_since() -> None:
    disturbances = Disturbances(topology.links_of)
    disturbances.fault(fault("on", 5, "ha", None))
    assert not disturbances.is_undisturbed(6, "master", "ha") and disturbances.is_undisturbed(0, "master")
    disturbances.fault(fault("off", 9, "ha", None))
    disturbances.pause("master", 10)
    assert not disturbances.is_undisturbed(11, "master") and disturbances.undisturbed_since("master", "ha") == 9
    disturbances.resume("master", 20)
    assert [disturbances.is_undisturbed(since, "master", "ha") for since in (9, 19, 20)] == [False, False, True]
    assert disturbances.undisturbed_since("master", "ha") == 20 and disturbances.undisturbed_since("slave") == 0
