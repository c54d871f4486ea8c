"""Runs pieces of work side by side, in a process for each core."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

WorkT = TypeVar("WorkT")
ResultT = TypeVar("ResultT")


def side_by_side(play: Callable[[WorkT], ResultT], work: Sequence[WorkT]) -> Iterator[ResultT]:
    """Yields the result of each piece of work, in their order, as soon as it is known.

    Args:
        play: a function that another process can import; its argument must be picklable.
        work: the pieces.
    """
    cores = min(os.cpu_count() or 1, len(work))
    if cores < 2:
        yield from map(play, work)
        return
    # not forked: a process with a JVM has threads
    pool = ProcessPoolExecutor(cores, multiprocessing.get_context("spawn"))
    try:
        yield from pool.map(play, work)
    finally:
        pool.shutdown(cancel_futures=True)
