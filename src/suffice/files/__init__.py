"""Model files: written whole, checked on reading, with nothing executable in them."""
