"""The simulated lab: virtual time, simulated links and disks."""
