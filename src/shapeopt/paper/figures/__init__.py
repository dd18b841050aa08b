"""The paper's figures, drawn from records and single runs."""
