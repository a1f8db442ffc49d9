"""Certificates for people: page, figure, tables of text, workbook, and the odds a release leaves."""
