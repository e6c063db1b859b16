"""A fitted model as one SQL query, and the check that it answers as the model does."""
