"""Gradients: accumulation, scaling, clipping."""
