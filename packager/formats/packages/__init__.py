"""Formats of packages: files of any kind with their names, as installers unpack them."""
