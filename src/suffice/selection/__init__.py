"""Choose and judge models: exact leave-one-out, members of the automatic classifier, and their stack."""
