"""SQL: one SELECT over the rows of a study, as questions to it and arithmetic on what it releases."""
