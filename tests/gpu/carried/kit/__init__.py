"""The tests that a GPU kit brings, in Python's own library alone."""
