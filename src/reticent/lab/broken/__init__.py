"""Broken on purpose: one mechanism or pipeline for each way in which privacy software has failed.

For teachers and auditors only. Nothing outside ``lab`` imports this, and none of it has what a release asks for.
"""
