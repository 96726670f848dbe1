"""Figures for papers, as charts."""
