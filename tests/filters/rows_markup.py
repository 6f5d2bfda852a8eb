"""Rules of markup: rule, source, target, reason (empty where the pair is kept)."""

ROWS = [
    ("html-tags", "1 < 2 & b > c", "<-- a <!-- b --> </b> <3", ""),
    ("html-tags", "a<", "<é>", ""),
    ("html-tags", "a <b>c</b>", "a c", "html-tags(source)=b"),
    ("html-tags", "a", "b<BR/>", "html-tags(target)=br"),
    ("html-tags", "<a href='x'>y</a>", "<p class=z", "html-tags(source)=a"),
    ("html-tags", "Allan <allan@example.com>", "", "html-tags(source)=allan@example.com"),
    ("html-tags", "<!-- <b> -->", "<![if x <b>", ""),
    ("escaped-unicode", r"C:\users\new", r"C:\xbox", ""),
    ("escaped-unicode", "50%; 20%de AT&T; &#; <up>", "100%c", ""),
    ("escaped-unicode", "https://de.example.org/%C3%84rger", "a", ""),
    ("escaped-unicode", r"caf\u00e9", "Café", r"escaped-unicode(source)=\u00e9"),
    ("escaped-unicode", r"a", r"b\xC3\xa9", r"escaped-unicode(target)=\xC3"),
    (
        "escaped-unicode",
        "caf&#233;",
        "caf&#xE9;",
        "escaped-unicode(source)=&#233; escaped-unicode(target)=&#xE9;",
    ),
    (
        "escaped-unicode",
        "caf<U+00E9>",
        r"\u{1f600}",
        "escaped-unicode(source)=<U+00E9> "
        r"escaped-unicode(target)=\u{1f600}",
    ),
    (
        "escaped-unicode",
        "%u0416",
        "%D0%96%d0%b5",
        "escaped-unicode(source)=%u0416 escaped-unicode(target)=%D0%96%d0%b5",
    ),
]
