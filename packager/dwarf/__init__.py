"""Debug information (the DWARF standard, versions 2 to 5), as far as names and files need it."""
