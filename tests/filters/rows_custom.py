"""Rules of the user's own: rule, source, target, reason (empty where the pair is kept).

The tests' pairs have the columns half (0.5), five (5) and none.
"""

from pathlib import Path

LIST = Path(__file__).with_name("unwanted.txt")

ROWS = [
    ("literals", "Regarding %d", "{ 5 % }", ""),
    ("literals", "re: your mail", "**", ""),
    ("literals", "Re: your mail", "a", "literals(source)=Re:"),
    ("literals", "a", "5%s }}", "literals(target)=%s"),
    (
        "literals:any=foo bar,baz",
        "foo-d bar",
        "bar,baz",
        "literals(source)=foo literals(target)=bar,baz",
    ),
    ("literals:any=foo bar,baz", "FOO", "bar, baz", ""),
    (r"regular-expression:pattern=\d{2}", "a 1 b 2", "", ""),
    (r"regular-expression:pattern=\d{2}", "a", "a 12 34", "regular-expression=target:12"),
    (r"regular-expression:source=^\p{Lu},target=[?]$", "a", "A", ""),
    (r"regular-expression:source=^\p{Lu},target=[?]$", "Öl", "A?", "regular-expression=source:Ö"),
    (r"regular-expression:target=[?]$", "A?", "B", ""),
    (r"regular-expression:pattern=a.c,keep=yes", "abc", "xadcx", ""),
    (r"regular-expression:pattern=a.c,keep=yes", "abc", "ab", "regular-expression=target:none"),
    (r"regular-expression:pattern=x{2,3},keep=no", "axxb", "", "regular-expression=source:xx"),
    (f"unwanted-words:words={LIST}", "Classic shoes", "Gratisprobe", ""),
    (f"unwanted-words:words={LIST}", "An ASS.", "a", "unwanted-words=source:ass"),
    (
        f"unwanted-words:words={LIST}",
        "a",
        "Jetzt  GRATIS-Testen!",
        "unwanted-words=target:gratis testen",
    ),
    (f"unwanted-words:words={LIST}", "gratis", "testen gratis", ""),
    (f"unwanted-words:words={LIST}", "网上赌场欢迎", "a", "unwanted-words=source:赌场"),
    (f"unwanted-words:source={LIST}", "a", "ass", ""),
    (f"unwanted-words:target={LIST}", "ass", "ass", "unwanted-words=target:ass"),
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
