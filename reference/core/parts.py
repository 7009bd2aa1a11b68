"""What the processors of one broker share: its settings, its store, its tables, and who is connected."""

from dataclasses import dataclass

from pairproof.reference.core.calls import Calls
from pairproof.reference.core.client_table import ClientTable
from pairproof.reference.core.command_peers import CommandPeers
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.consumer_offsets import ConsumerOffsets
from pairproof.reference.core.delay_offsets import DelayOffsets
from pairproof.reference.core.puts import Puts
from pairproof.reference.core.queue_locks import QueueLocks
from pairproof.reference.core.store import MessageStore
from pairproof.reference.core.subscription_groups import GroupTable
from pairproof.reference.core.topics import TopicTable
from pairproof.reference.ports import Effects, Watcher


@dataclass(slots=True)
class Parts:
    """One broker's parts; each is the only one of its kind."""

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
    """Connections that clients and other brokers opened."""
    calls: Calls
    """Connections that this broker opened to name servers and to its master."""
