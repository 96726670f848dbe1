"""Runs: simulation, warm devices, inputs, progress."""
