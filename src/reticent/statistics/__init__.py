"""Statistics that people ask for, made of mechanisms, each with an interval and a derived guarantee.

``asked`` holds the questions, ``prepare`` turns one into a step, ``answer`` is what a step gives. The questions are
light and are the only part that ``import reticent`` loads.
"""
