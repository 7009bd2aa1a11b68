"""Requests that make no sense, by name, and the codes with which a broker may refuse them.

Measured on 4.9.7 and 5.5.0, master and slave. Where several codes are allowed they say the same to a client: it must
not believe that something happened, nor try again. A slave that takes no messages may say that first.
"""

from __future__ import annotations

from collections.abc import Mapping

_ERROR = frozenset({"SYSTEM_ERROR", "INVALID_PARAMETER"})
"""5.x answers with the second, where 4.9 has no better code than the first."""
_ILLEGAL = frozenset({"MESSAGE_ILLEGAL"})
_CLOSED = frozenset({"CLOSED"})
"""What is not a frame says neither what is asked nor under which number an answer is awaited: the connection ends."""
_NO_TOPIC = frozenset({"TOPIC_NOT_EXIST"})
_SLAVE = frozenset({"SERVICE_NOT_AVAILABLE"})
"""To any send."""
_UNKNOWN = frozenset({"TOPIC_NOT_EXIST", "SUBSCRIPTION_GROUP_NOT_EXIST"})
"""Of a broker that has not learned of the trial's own topic or group: a slave just started, or on an empty disk."""

REFUSALS: Mapping[str, frozenset[str]] = {
    "an unknown code": frozenset({"REQUEST_CODE_NOT_SUPPORTED"}),
    "a send to a topic with a space": _ERROR | _ILLEGAL | _SLAVE,
    "a send to the transactions' own topic": _ERROR | {"NO_PERMISSION"} | _SLAVE,
    "a send to a queue that is not there": _ERROR | _SLAVE | _UNKNOWN,
    "a send to a topic that nobody made": _NO_TOPIC | _SLAVE,
    "a send that names no topic": _ERROR | _SLAVE,
    "a send with 32 KiB of properties": _ILLEGAL | _SLAVE | _UNKNOWN,
    "a pull of a topic that nobody made": _UNKNOWN,
    "a pull of a queue that is not there": _ERROR | _UNKNOWN,
    "a pull that filters by SQL": _ERROR | {"SUBSCRIPTION_PARSE_FAILED"} | _UNKNOWN,
    "a pull without its queue": _ERROR,
    "statistics of a topic that nobody made": _NO_TOPIC,
    "members of a group that nobody joined": _ERROR,
    "a query without its topic": _ERROR,
    "the message before the log": _ERROR,
    "a new topic with a space": _ERROR,
    "a change of the template of topics": _ERROR,
    "the template of topics deleted": _ERROR,
    "a commit of no transaction": _ERROR | {"SLAVE_NOT_AVAILABLE"},
    "a heartbeat that is not JSON": _ERROR,
    "a group that is not JSON": _ERROR,
    "progress without its queue": _ERROR | _UNKNOWN,
    "progress that is not a number": _ERROR | _UNKNOWN,
    "a send with a topic of 128 characters": _ERROR | _ILLEGAL | _SLAVE,
    "a batch with a body longer than it is": _ERROR | _ILLEGAL | _SLAVE | _UNKNOWN,
    "a batch that is delayed": _ILLEGAL | _SLAVE | _UNKNOWN,
    "a batch that is half a transaction": _ILLEGAL | _SLAVE | _UNKNOWN,
    "a pull of a queue that is not a number": _ERROR,
    "a query for many messages": _ERROR,
    "members of no group": _ERROR,
    "a time in no queue": _ERROR | _UNKNOWN,
    "a topic of an unknown kind": _ERROR,
    "a topic of unknown size": _ERROR,
    "the half messages' topic deleted": _ERROR,
    "the end of a transaction at no offset": _ERROR | {"SLAVE_NOT_AVAILABLE"},
    "a heartbeat of ten thousand lists": _ERROR,
    "a lock that is not JSON": _ERROR,
    "a frame whose header is not JSON": _CLOSED,
    "a frame whose header is a list": _CLOSED,
    "a frame whose header is longer than it is": _CLOSED,
    "a frame of more than 16 MiB": _CLOSED,
    "a frame of a negative length": _CLOSED,
    "a frame of an unknown form": _CLOSED,
    "a frame with a name that is longer than its header": _CLOSED,
    "progress of no queue": _ERROR | _UNKNOWN,
    "a message sent back from no offset": _ERROR,
    "an unlock that is not JSON": _ERROR,
    "connections of a group that nobody joined": frozenset({"CONSUMER_NOT_ONLINE"}),
    "producers of a group that nobody joined": _ERROR,
    "the deletion of no group": _ERROR,
    "how far no group is": _ERROR | _UNKNOWN,
    "where no queue ends": _ERROR | _UNKNOWN,
    "where no queue begins": _ERROR | _UNKNOWN,
    "since when no queue is": _ERROR | _UNKNOWN,
    "the message at no offset": _ERROR,
    "a route of a topic that nobody made": _NO_TOPIC,
    "a route of no topic": _ERROR,
    "a registration with another checksum": _ERROR,
    "a registration that is not JSON": _ERROR,
    "a compressed registration that is not compressed": _ERROR,
    "a compressed registration that ends early": _ERROR,
    "a compressed registration of zeros": _ERROR,
    "a registration of no address": _ERROR,
    "a state of topics that is not JSON": _ERROR,
    "a broker without an address that leaves": _ERROR,
}
