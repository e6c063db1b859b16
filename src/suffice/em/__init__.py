"""Maximum likelihood by EM: from statistics or rows with missing cells, and for mixtures."""
