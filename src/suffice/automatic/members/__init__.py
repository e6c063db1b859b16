"""The members of the automatic classifier: densities by class, each with exact leave-one-out in closed form."""
