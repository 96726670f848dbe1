"""Reproductions of published papers: their experiments, their figures drawn from our runs, their numbers beside ours.

[`paper`][coflash_reproduce.paper] says what a paper is; each paper is one sub-package and one entry in `PAPERS` of
[`reproduction`][coflash_reproduce.reproduction].
"""
