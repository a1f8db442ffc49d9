"""The demonstration: a public table, published as a private one would be, with the truth beside the answers.

    folder --prepare--> study file, table --publish--> Demonstration(release, truth, checks)

Nowhere else is the truth ever computed. Here it may be, because everyone may look at this table: see README.md.
"""

from reticent.demo.run import Demonstration, prepare, publish
from reticent.demo.truth import truths

__all__ = ["Demonstration", "prepare", "publish", "truths"]
