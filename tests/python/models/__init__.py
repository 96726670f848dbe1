"""Naive models of the simulated systems, to check the simulator: dictionaries, lists and scans.

They follow the specification and the reference of the scenario's keys, and share no code with the simulator. They are
slow, know only some of the keys, and must give exactly the same numbers.
"""
