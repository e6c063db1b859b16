"""The automatic classifier: members judged by exact leave-one-out, and a stack of them."""
