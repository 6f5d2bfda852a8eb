"""Rules of web text: rule, source, target, reason (empty where kept)."""

from pathlib import Path

LIST = Path(__file__).with_name("boilerplate.txt")

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
    (
        "urls",
        "See http://example.org for much more about it",
        "Siehe example.org",
        "urls(target)=0.688>0.5",
    ),
    ("urls", "We met at 10.30 p.m. in the U.S.A., e.g. there", "Amazon.com wächst weiter.", ""),
    ("urls:maximum=0", "Node.js and main.py, v1.2.de5", "z.B. hier", ""),
    ("urls:maximum=0", "write to me@example.org", "schreib", "urls(source)=0.667>0"),
    ("urls", "a", "www.example.org/x?y=1 hier", "urls(target)=0.84>0.5"),
    ("urls", "https://localhost:80/a", "", "urls(source)=1>0.5"),
    ("breadcrumbs", "Bayern - Dortmund 3 - 1", "Mo - Fr 9 - 12 Uhr", ""),
    ("breadcrumbs", "- Yes. - No. - Why? - So.", "« a » « b » « c »", ""),
    ("breadcrumbs", "a long piece of text | and then another | and one | more of it", "", ""),
    ("breadcrumbs", "Home | News | Sport | Contact", "a", "breadcrumbs(source)=4>3"),
    ("breadcrumbs", "a", "Start » Über uns » Das Team » Ort · Karte", "breadcrumbs(target)=5>3"),
    ("breadcrumbs:maximum=1", "Home > News", "a", "breadcrumbs(source)=2>1"),
    ("breadcrumbs:words=1", "Home | Our News | Sport | Contact", "a", ""),
    (
        "boilerplate",
        "The site said it uses cookies to track people on Facebook.",
        "Er hat sein Passwort vergessen und kann nicht mehr auf Facebook teilen.",
        "",
    ),
    (
        "boilerplate",
        "Please read more books about privacy.",
        "Zuletzt geändert durch Artikel 3",
        "",
    ),
    (
        "boilerplate",
        "Home is where the heart is.",
        "Tous les droits sont réservés aux adultes.",
        "",
    ),
    (
        "boilerplate",
        "© 2004 Example Ltd.",
        "Alle Rechte vorbehalten.",
        "boilerplate(source)=© 2004 boilerplate(target)=Alle Rechte vorbehalten",
    ),
    (
        "boilerplate",
        "This website uses cookies.",
        "Ce site web utilise des cookies.",
        "boilerplate(source)=This website uses cookies "
        "boilerplate(target)=Ce site web utilise des cookies",
    ),
    (
        "boilerplate",
        "FORGOT YOUR PASSWORD?",
        "Zapomněli jste heslo?",
        "boilerplate(source)=FORGOT YOUR PASSWORD? boilerplate(target)=Zapomněli jste heslo",
    ),
    (
        "boilerplate",
        "Contact | Privacy Policy",
        "Síguenos en Facebook",
        "boilerplate(source)= | Privacy Policy boilerplate(target)=Síguenos en Facebook",
    ),
    (
        f"boilerplate:file={LIST}",
        "Get 20% off today",
        "Rabatt von 20 %",
        "boilerplate(source)=20% off",
    ),
    (
        f"boilerplate:file={LIST}",
        "The lights went off",
        "All rights reserved",
        "boilerplate(target)=All rights reserved",
    ),
    (f"boilerplate:file={LIST}", "a", "Jetzt buchen!", "boilerplate(target)=Jetzt buchen"),
]
