"""A campaign: an exploration in a deterministic lab that many processes or machines play into one run folder.

The plan (:mod:`.plan`) cuts it into chunks; whoever is free plays one and writes its part of every table
(:mod:`.chunks`). What was written is never played again, so a campaign that was killed is taken up where it was
(:mod:`.campaign`). Who plays is an engine: processes of this machine (:mod:`.local`), or a Spark cluster's executors
(:mod:`pairproof.reports.campaigning`).
"""
