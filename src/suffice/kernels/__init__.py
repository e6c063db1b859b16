"""Compiled kernels over rows: trees grown and walked, knots looked up, rows left out, rows with missing cells.

The files in C are the source, `hatch_build.py` compiles them when the package is built or installed, and `library`
loads what was compiled. Every other module calls the C files of its name; `growing` calls boosting.c as well, `trees`
shapley.c, `observed` filling.c and orders.c.
"""
