"""Parts of one fit: its handles, price and noise, and the base classes of the estimators."""
