"""Rules of the user's patterns: rule, source, target, reason (empty where the pair is kept)."""

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
]
