"""Laws about the HA connection: reports, frames, heartbeats and closes."""
