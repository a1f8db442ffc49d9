"""Mechanisms, one file each: values in, noisy values out, the guarantee proved beside the code.

A program imports the mechanism it draws by, from its file. ``registry`` has all of them.
"""
