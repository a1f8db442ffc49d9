"""Broken on purpose: one mechanism or pipeline for each way in which privacy software has failed.

For teachers and auditors only. It stands outside the wheel, and none of it has what a release asks for.
"""
