"""The board's tables: which results share a table, ranks, columns, badges."""
