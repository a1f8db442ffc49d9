"""Proof that runs: exact output laws, record-replay, statistical lower bounds, and the conformance kit.

Nothing here is trusted by a release; a release can only be refuted by it.
"""
