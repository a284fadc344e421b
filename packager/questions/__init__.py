"""What people ask of files that were read: sums, choices, changes. Of the model alone, no I/O."""
