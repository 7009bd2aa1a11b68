"""The shared parts of one broker's processors: settings, store, tables, connected clients."""

from dataclasses import dataclass

from ..ports import Effects, Watcher
from .calls import Calls
from .client_table import ClientTable
from .command_peers import CommandPeers
from .config import BrokerConfig
from .consumer_offsets import ConsumerOffsets
from .delay_offsets import DelayOffsets
from .puts import Puts
from .queue_locks import QueueLocks
from .store import MessageStore
from .subscription_groups import GroupTable
from .topics import TopicTable


@dataclass(slots=True)
class Parts:
    config: BrokerConfig
    io: Effects
    watcher: Watcher
    store: MessageStore
    puts: Puts
    topics: TopicTable
    groups: GroupTable
    offsets: ConsumerOffsets
    delay_offsets: DelayOffsets
    clients: ClientTable
    locks: QueueLocks
    peers: CommandPeers
    calls: Calls
