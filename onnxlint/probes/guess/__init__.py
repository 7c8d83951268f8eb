"""Inputs, dynamic dims and constructor arguments for models that nobody described."""
