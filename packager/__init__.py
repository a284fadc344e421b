"""Offload containers as data: bytes -> formats -> model -> checks or writers."""
