"""Tests of hypotheses on noisy counts and sums, whose critical values know the noise.

    asked   the question, public parameters only
    steps   from a question and its setting to a step: which queries, which noise, which statistic

What is private is one vector of noisy integers; the statistic, its law under the hypothesis and the p-value are
post-processing of it.
"""
