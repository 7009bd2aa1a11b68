"""RocketMQ's bytes: HA link, stored records, ids and client frames. Pure functions and stream readers."""
