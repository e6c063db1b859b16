"""Loops over rows, compiled where there was a C compiler; with or without them every answer is the same, bit for bit.

`loops.c` is the source, `hatch_build.py` compiles it, `library` loads what was compiled. `trees` and `columns` ask
it, or do the same in NumPy. SUFFICE_LOOPS=0 in the environment leaves the library alone.
"""
