"""Tests of hypotheses on noisy counts and sums, whose critical values know the noise.

    hypothesis_test  the question, public parameters only
    kinds            from a question and its setting to a step: which queries, which noise, which statistic
    step             the step: one draw of noise, and what the noisy integers say
    null             laws under a hypothesis by simulation
    power            how often a test of a plan would say no

What is private is one vector of noisy integers; the statistic, its law under the hypothesis and the p-value are
post-processing of it.
"""
