"""The studies: questions of our own, each a module that declares a `Study`."""

NAMES = (
    "cdm-victim-scores",
    "frozen-spare",
    "removable-weight",
    "caching-less",
    "eviction-policies",
    "placement",
    "handles",
    "all-three",
    "atlas",
)
"""The studies in their order; each is the module of its name, with underscores."""
