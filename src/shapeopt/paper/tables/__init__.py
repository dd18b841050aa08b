"""The paper's tables, made from records, with its published figures beside them."""
