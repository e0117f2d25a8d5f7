"""Collectives as libraries run them: placement of ranks, learned link parameters, time by message size."""
