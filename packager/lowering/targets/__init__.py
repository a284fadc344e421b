"""The targets that `lower` knows, a module each."""
