"""Loops over rows, compiled where there was a C compiler; with or without them every answer is the same, bit for bit.

The files in C are the source, `hatch_build.py` compiles them, `library` loads what was compiled. `trees`, `columns`,
`growing` and `boosting` ask it, each what is in the file of its name; who calls them does the same in NumPy else. SUFFICE_LOOPS=0 in the environment leaves the library alone.
"""
