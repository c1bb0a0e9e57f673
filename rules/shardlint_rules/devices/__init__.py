"""Devices: which accelerator a process works on."""
