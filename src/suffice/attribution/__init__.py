"""Shapley values of log densities: what each column adds to the log-odds of the classes."""
