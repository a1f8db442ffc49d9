"""Proof that runs, beside the wheel: exact output laws, replay of sessions and models, and broken mechanisms.

Nothing here is trusted by a release; a release can only be refuted by it. ``python -m tests.assurance`` makes the whole
report; ``make audit`` runs the long tier.
"""
