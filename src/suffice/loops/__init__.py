"""Loops over rows, compiled where there was a C compiler; with or without them every answer is the same, bit for bit.

The files in C are the source, `hatch_build.py` compiles them, `library` loads what was compiled. The other modules ask
it for what is in the file of their name; where there is none, NumPy does the same.
SUFFICE_LOOPS=0 in the environment leaves it alone.
"""
