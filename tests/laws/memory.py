"""How much memory something takes."""

import contextlib
import tracemalloc


@contextlib.contextmanager
def memory_below(most, least=0):
    """What is done within takes less memory than so many bytes, as Python and NumPy count it, and more than `least`."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert least <= peak < most
