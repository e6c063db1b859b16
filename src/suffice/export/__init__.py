"""A fitted model as an explicit program of arithmetic, and that program in other languages."""
