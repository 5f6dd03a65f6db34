"""Continuous and mixed domains for the search: decisions and points as rows of coordinates, and what moves them."""
