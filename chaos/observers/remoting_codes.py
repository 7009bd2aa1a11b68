"""Numbers of requests and of answers as RocketMQ gives them, for what asks and reads on its own.

Source: RequestCode, ResponseCode, RemotingSysResponseCode of RocketMQ 4.9.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType


class Request(IntEnum):
    """What is asked for."""

    SEND_MESSAGE = 10
    PULL_MESSAGE = 11
    QUERY_MESSAGE = 12
    QUERY_CONSUMER_OFFSET = 14
    UPDATE_CONSUMER_OFFSET = 15
    UPDATE_AND_CREATE_TOPIC = 17
    GET_BROKER_CONFIG = 26
    GET_BROKER_RUNTIME_INFO = 28
    SEARCH_OFFSET_BY_TIMESTAMP = 29
    GET_MAX_OFFSET = 30
    GET_MIN_OFFSET = 31
    GET_EARLIEST_MSG_STORETIME = 32
    VIEW_MESSAGE_BY_ID = 33
    HEART_BEAT = 34
    UNREGISTER_CLIENT = 35
    CONSUMER_SEND_MSG_BACK = 36
    END_TRANSACTION = 37
    GET_CONSUMER_LIST_BY_GROUP = 38
    NOTIFY_CONSUMER_IDS_CHANGED = 40
    LOCK_BATCH_MQ = 41
    UNLOCK_BATCH_MQ = 42
    REGISTER_BROKER = 103
    UNREGISTER_BROKER = 104
    GET_ROUTEINFO_BY_TOPIC = 105
    UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200
    GET_TOPIC_STATS_INFO = 202
    GET_CONSUMER_CONNECTION_LIST = 203
    GET_PRODUCER_CONNECTION_LIST = 204
    DELETE_SUBSCRIPTIONGROUP = 207
    GET_CONSUME_STATS = 208
    DELETE_TOPIC_IN_BROKER = 215
    SEND_MESSAGE_V2 = 310
    SEND_BATCH_MESSAGE = 320
    QUERY_DATA_VERSION = 322


STATUSES: Mapping[int, str] = MappingProxyType(
    {
        0: "PUT_OK",
        1: "SYSTEM_ERROR",
        2: "SYSTEM_BUSY",
        3: "REQUEST_CODE_NOT_SUPPORTED",
        10: "FLUSH_DISK_TIMEOUT",
        11: "SLAVE_NOT_AVAILABLE",
        12: "FLUSH_SLAVE_TIMEOUT",
        13: "MESSAGE_ILLEGAL",
        14: "SERVICE_NOT_AVAILABLE",
        16: "NO_PERMISSION",
        17: "TOPIC_NOT_EXIST",
        19: "PULL_NOT_FOUND",
        20: "PULL_RETRY_IMMEDIATELY",
        21: "PULL_OFFSET_MOVED",
        22: "QUERY_NOT_FOUND",
        23: "SUBSCRIPTION_PARSE_FAILED",
        24: "SUBSCRIPTION_NOT_EXIST",
        25: "SUBSCRIPTION_NOT_LATEST",
        26: "SUBSCRIPTION_GROUP_NOT_EXIST",
        29: "INVALID_PARAMETER",
        206: "CONSUMER_NOT_ONLINE",
    }
)
"""What a history calls an answer. Success is called as an answer to a send is."""
