"""Naive models of what the simulator simulates, to compare it with: dictionaries, lists and scans.

They follow the specification and the reference of the scenario's keys, and share no code with the simulator. They are
slow, know only some of the keys, and must give exactly the same numbers.
"""
