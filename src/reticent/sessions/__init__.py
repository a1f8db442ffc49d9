"""Sessions: questions of which each may depend on the answers before it, paid from a study's ledger."""
