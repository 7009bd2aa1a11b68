"""A fault at every link of a node touches the node and its links, and no other fault touches more than its place."""

from __future__ import annotations

import pytest

from pairproof.harness.judging.trouble import EVERY_LINK, Trouble
from pairproof.harness.kinds.machine import Fault
from pairproof.harness.rocketmq import places
from pairproof.harness.trials.schedule import Args


def fault(status: str, t: int, link: str | None, node: str | None = "slave") -> Fault:
    return Fault(t, t, "fault", node, link=link, op=0, f="any", status=status)


@pytest.mark.parametrize("place", ["slave", "ha", "client-slave", "names-slave", "meta", "meta-fast"])
def test_all_links_of_a_node_are_struck_and_then_quiet_again(place: str) -> None:
    trouble = Trouble(places.links_of)
    trouble.fault(fault("on", 5, EVERY_LINK))
    assert trouble.is_struck(place, "nowhere") and not trouble.is_quiet(place, 4)
    trouble.fault(fault("off", 9, EVERY_LINK))
    assert not trouble.is_struck(place) and not trouble.is_quiet(place, 9) and trouble.is_quiet(place, 10)


@pytest.mark.parametrize("place", ["master", "ha2", "client-master", "names-client", ""])
def test_links_of_other_nodes_are_not(place: str) -> None:
    trouble = Trouble(places.links_of)
    trouble.fault(fault("on", 5, EVERY_LINK))
    assert trouble.is_quiet(place, 0) and not trouble.is_struck(place)


def test_a_node_with_a_fault_at_every_link_stands_still_until_the_last_thing_lets_it_go_on() -> None:
    trouble = Trouble(places.links_of)
    trouble.fault(fault("on", 5, "ha"))
    assert not trouble.is_still("slave")
    trouble.fault(fault("on", 10, EVERY_LINK)._replace(op=1))
    trouble.pause("slave", 20)
    trouble.fault(fault("off", 30, EVERY_LINK)._replace(op=1))
    assert trouble.is_still("slave") and trouble.still_ns("slave", 0, 35) == 25
    trouble.resume("slave", 40)
    assert not trouble.is_still("slave") and trouble.still_ns("slave", 0, 99) == 30
    trouble.resume("slave", 50)
    assert trouble.still_ns("slave", 0, 99) == 30


def test_a_node_that_stands_still_later_did_not_do_so_before() -> None:
    trouble = Trouble(places.links_of)
    for begin, end in ((20, 30), (60, 90)):
        trouble.pause("master", begin)
        trouble.resume("master", end)
    assert [trouble.still_ns("master", 0, until) for until in (10, 25, 50, 70, 99)] == [0, 5, 10, 20, 40]
    assert trouble.still_ns("master", 40, 50) == 0


def test_another_fault_touches_the_place_that_it_names_alone() -> None:
    touched = Trouble(places.links_of).touched
    assert touched(fault("on", 5, None)) == {"slave"}
    assert touched(fault("on", 5, "ha", None)) == {"ha"}
    assert touched(fault("on", 5, None, None)) == {""}
    assert touched(fault("on", 5, EVERY_LINK, "a third party's")) == {"a third party's"}


def test_every_link_that_is_no_clients_has_two_ends() -> None:
    ends = {link: [node for node in places.PROCESSES if link in places.links_of(node)] for link in places.LINKS}
    of_clients = {*places.CLIENT_LINKS, places.NAMES_CLIENT, "client-other"}
    assert {link: len(nodes) for link, nodes in ends.items()} == {
        link: 1 if link in of_clients else 2 for link in places.LINKS
    }


def test_only_arguments_that_name_places_are_replaced_by_similar_ones() -> None:
    args: Args = {"name": "replace", "node": "slave2", "image": "other"}
    assert places.within(args, {}) == {"name": "replace", "node": "slave", "image": "other"}
    assert places.within({"name": "kill", "node": "other"}, {}) == {"name": "kill", "node": "master"}


def test_places_are_undisturbed_when_no_fault_touched_them_and_no_node_stood_still_since() -> None:
    trouble = Trouble(places.links_of)
    trouble.fault(fault("on", 5, "ha", None))
    assert not trouble.is_undisturbed(6, "master", "ha") and trouble.is_undisturbed(0, "master")
    trouble.fault(fault("off", 9, "ha", None))
    trouble.pause("master", 10)
    assert not trouble.is_undisturbed(11, "master") and trouble.undisturbed_since("master", "ha") == 9
    trouble.resume("master", 20)
    assert [trouble.is_undisturbed(since, "master", "ha") for since in (9, 19, 20)] == [False, False, True]
    assert trouble.undisturbed_since("master", "ha") == 20 and trouble.undisturbed_since("slave") == 0
