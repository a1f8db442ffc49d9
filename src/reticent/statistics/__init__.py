"""Statistics that people ask for, made of mechanisms, each with an interval and a derived guarantee.

``registry`` lists the statistics, and a folder has those of one family. ``prepare`` turns one into a step, and
``answer`` is what a step gives. A statistic is loaded when its verb is first used.
"""
