# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces of what ran: bytes -> events, whatever program wrote them."""
