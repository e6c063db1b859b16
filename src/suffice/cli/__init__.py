"""The command line: one file per command, over the same verbs as the library.

Results go to files or stdout, everything else to stderr. Nothing here imports NumPy, scikit-learn or pyarrow before a
command runs, so `suffice --help` answers at once.
"""
