"""When flash operations end, given all of them in the order in which they were issued."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

Moment = tuple[tuple[int | None, int], ...]
"""The latest of several times, each in nanoseconds after the end of an operation, or after the start."""


def at(ns: int) -> Moment:
    return ((None, ns),)


def later(moment: Moment, ns: int) -> Moment:
    return tuple((operation, after + ns) for operation, after in moment)


class Operation(NamedTuple):
    """An operation's time on its die: array, then bus, then array."""

    server: int
    """Its die, or its plane where planes overlap."""
    channel: int
    array_ns: int
    bus_ns: int
    finish_ns: int
    issued_ns: int
    after: Moment
    """Its earliest start."""


class Ends:
    """The end of each operation."""

    def __init__(self) -> None:
        self.ends_ns: dict[int, int] = {}

    def is_known(self, moment: Moment) -> bool:
        return all(operation is None or operation in self.ends_ns for operation, _ in moment)

    def come_ns(self, moment: Moment) -> int:
        return max(ns if operation is None else self.ends_ns[operation] + ns for operation, ns in moment)


def on_private_channels(operations: list[Operation]) -> Ends:
    """Each die serves its operations first come, first served, and waits for nobody else."""
    ends = Ends()
    free_ns: dict[int, int] = {}
    for index, operation in enumerate(operations):
        start_ns = max(free_ns.get(operation.server, 0), ends.come_ns(operation.after))
        end_ns = start_ns + operation.array_ns + operation.bus_ns + operation.finish_ns
        ends.ends_ns[index] = free_ns[operation.server] = end_ns
    return ends


def on_shared_channels(operations: list[Operation]) -> Ends:
    """As above, but a transfer waits for the channel, which serves dies in the order in which they ask."""
    simulation = _SharedChannels(operations)
    for index, operation in enumerate(operations):
        simulation.pass_time(operation.issued_ns)
        simulation.issue(index)
    simulation.pass_time(None)
    return simulation.ends


class _SharedChannels:
    """Events in the order of time; simultaneous ones in the order in which they were scheduled."""

    def __init__(self, operations: list[Operation]) -> None:
        self.operations = operations
        self.ends = Ends()
        self.now_ns = 0
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.scheduled = count()
        self.queues: defaultdict[int, deque[int]] = defaultdict(deque)
        """Operations of each die, the one that it is at included."""
        self.busy: set[int] = set()
        self.bus_queues: defaultdict[int, deque[int]] = defaultdict(deque)
        """Operations that want each channel, the one that has it included."""

    def pass_time(self, until_ns: int | None) -> None:
        while self.events and (until_ns is None or self.events[0][0] <= until_ns):
            self.now_ns, _, happen = heapq.heappop(self.events)
            happen()
        self.now_ns = max(self.now_ns, until_ns or 0)

    def schedule(self, at_ns: int, happen: Callable[[], None]) -> None:
        heapq.heappush(self.events, (at_ns, next(self.scheduled), happen))

    def issue(self, index: int) -> None:
        self.queues[self.operations[index].server].append(index)
        self.go_on(self.operations[index].server)

    def go_on(self, server: int) -> None:
        """Lets a free die begin its next operation, if its earliest start is known."""
        if server in self.busy or not self.queues[server]:
            return
        index = self.queues[server][0]
        if self.ends.is_known(self.operations[index].after):
            self.busy.add(server)
            may_begin_ns = self.ends.come_ns(self.operations[index].after)
            if may_begin_ns > self.now_ns:
                self.schedule(may_begin_ns, lambda: self.begin(index))
            else:
                self.begin(index)

    def begin(self, index: int) -> None:
        operation = self.operations[index]
        if operation.bus_ns == 0:
            self.schedule(self.now_ns + operation.array_ns + operation.finish_ns, lambda: self.end(index))
        elif operation.array_ns == 0:
            self.ask_for_bus(index)
        else:
            self.schedule(self.now_ns + operation.array_ns, lambda: self.ask_for_bus(index))

    def ask_for_bus(self, index: int) -> None:
        queue = self.bus_queues[self.operations[index].channel]
        queue.append(index)
        if len(queue) == 1:
            self.schedule(self.now_ns + self.operations[index].bus_ns, lambda: self.transferred(index))

    def transferred(self, index: int) -> None:
        queue = self.bus_queues[self.operations[index].channel]
        queue.popleft()
        if queue:
            following = queue[0]
            self.schedule(self.now_ns + self.operations[following].bus_ns, lambda: self.transferred(following))
        self.schedule(self.now_ns + self.operations[index].finish_ns, lambda: self.end(index))

    def end(self, index: int) -> None:
        server = self.operations[index].server
        self.ends.ends_ns[index] = self.now_ns
        self.queues[server].popleft()
        for other in self.queues:
            if other != server:
                self.go_on(other)
        self.busy.discard(server)
        self.go_on(server)
