"""Rules of digits: rule, source, target, reason (empty where the pair is kept)."""

ROWS = [
    ("numerals", "no digits", "keine Ziffern", ""),
    ("numerals", "12 and 304", "12 und 34", ""),
    ("numerals", "5", "٥", ""),
    ("numerals", "12", "1", ""),
    ("numerals", "100", "hundert", "numerals=0<0.5"),
    ("numerals", "123", "4561", "numerals=0.286<0.5"),
    ("numerals:minimum=0.9", "1234", "1243", "numerals=0.75<0.9"),
    ("number-inconsistencies", "12 of 3", "3 von 21", ""),
    ("number-inconsistencies", "42", "४२", ""),
    ("number-inconsistencies", "3 p.m.", "15 Uhr", "number-inconsistencies=3>0"),
    ("number-inconsistencies", "10", "zehn", "number-inconsistencies=2>0"),
    ("number-inconsistencies:maximum=2", "10", "zehn", ""),
]
