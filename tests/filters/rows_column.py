"""Rules of columns: the tests' pairs have the columns half (0.5), five (5) and none."""

ROWS = [
    ("half>=0.5", "a", "b", ""),
    ("half<=0.5", "a", "b", ""),
    ("half>0.5", "a", "b", "half=0.5<=0.5"),
    ("half<0.5", "a", "b", "half=0.5>=0.5"),
    ("half>=0.75", "a", "b", "half=0.5<0.75"),
    ("column:column=half,maximum=0.25", "a", "b", "half=0.5>0.25"),
    ("none>=0.5", "a", "b", "none=missing"),
    ("-1>=0.5", "a", "b", "column -1=missing"),
    ("translation-cost:column=half", "a", "b", ""),
    ("translation-cost:column=half,maximum=1", "a", "b", ""),
    ("translation-cost:column=five", "a", "b", "translation-cost=5>1"),
    ("translation-cost:column=none", "a", "b", "translation-cost=missing"),
    ("reference-probability:column=half", "a", "b", ""),
    ("reference-probability:column=five", "a", "b", ""),
    ("reference-probability:column=half,minimum=0.9", "a", "b", "reference-probability=0.5<0.9"),
    ("reference-probability:column=none", "a", "b", "reference-probability=missing"),
]
