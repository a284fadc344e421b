"""Queries on the model for the reading commands: sums, selections, comparisons. No I/O."""
