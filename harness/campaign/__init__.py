"""A campaign: an exploration in a deterministic lab that many processes or machines play into one run folder.

The plan (:mod:`.plan`) cuts it into chunks; a free process plays one and writes its part of every table
(:mod:`.chunks`). Chunks that were written are never played again, so a killed campaign goes on where it stopped
(:mod:`.campaign`). An engine plays them: processes of this machine (:mod:`.local`), or a Spark cluster's executors
(:mod:`pairproof.reports.campaigning`).
"""
