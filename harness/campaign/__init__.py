"""Campaigns: explorations in a deterministic lab that many processes or machines play into one run folder.

The plan (:mod:`.plan`) divides a campaign into chunks; a free process plays one and writes its part of every table
(:mod:`.chunks`). Written chunks are never played again, so a killed campaign resumes (:mod:`.campaign`). The engine is
local processes (:mod:`.local`), or a Spark cluster's executors (:mod:`pairproof.reports.campaigning`).
"""
