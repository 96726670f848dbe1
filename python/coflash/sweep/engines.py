"""The engine of a place: threads of this process, or a cluster of Dask."""

from __future__ import annotations

from contextlib import AbstractContextManager

from coflash._core import CoflashError
from coflash.sweep.engine import Engine, Place


def open_engine(place: Place) -> AbstractContextManager[Engine]:
    """Open the engine of a place.

    Raises:
        CoflashError: Dask is not installed, or no scheduler answers.
    """
    if place.is_here:
        from coflash.sweep.engine_local import opened

        return opened(place)
    try:
        from coflash.sweep import engine_dask  # an extra
    except ImportError as error:
        raise CoflashError(f"Dask is not installed: pip install 'coflash[dask]' ({error})") from error
    return engine_dask.opened(place)
