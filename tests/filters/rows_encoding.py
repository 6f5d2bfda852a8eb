"""Rules of damaged characters: rule, source, target, reason (empty where the pair is kept)."""

ROWS = [
    ("bad-encoding", "« café » à « la » CAFÉ“ É™", "„Ä“ Spaß“ Ärger 5 Å² ½", ""),
    ("bad-encoding", "Õhtu MAÇÃ” IRMÃ: Âm", "Říš Úžas ČŠ ВІЙ мрії Ăştia √2", ""),
    ("bad-encoding", "Мы «все» в “Р”", "Привет, С…", ""),
    ("bad-encoding", "a cafÃ© there", "a", "bad-encoding(source)=Ã©"),
    ("bad-encoding", "a", "itâ€™s", "bad-encoding(target)=â€"),
    ("bad-encoding", "a", "für", ""),
    (
        "bad-encoding",
        "cafÃƒÂ©",
        "fÃ\u0083Â¼r",
        "bad-encoding(source)=ÃƒÂ© bad-encoding(target)=Ã\x83Â¼",
    ),
    ("bad-encoding", "Ã¼ber", "STRAÃŸE", "bad-encoding(source)=Ã¼ bad-encoding(target)=ÃŸ"),
    ("bad-encoding", "voilÃ  la", "Ã  la", "bad-encoding(source)=Ã bad-encoding(target)=Ã"),
    ("bad-encoding", "45Â° Â©", "45°", "bad-encoding(source)=Â°"),
    (
        "bad-encoding",
        "ÐŸÑ€Ð¸",
        "РџСЂРёРІРµС‚",
        "bad-encoding(source)=ÐŸÑ€Ð¸ bad-encoding(target)=РџСЂРёРІРµС‚",
    ),
    (
        "bad-encoding",
        "ä½ å¥½å\u0090—",
        "ä½\u00a0å¥½",
        "bad-encoding(source)=å¥½å\u0090— bad-encoding(target)=ä½\u00a0å¥½",
    ),
    (
        "bad-encoding",
        "pĹ™Ă\u00adliĹˇ",
        "fr√ºher ‚Äúja‚Äù",
        "bad-encoding(source)=Ĺ™ bad-encoding(target)=√º",
    ),
    ("bad-encoding", "tiáº¿ng", "ðŸ˜€", "bad-encoding(source)=áº¿ bad-encoding(target)=ðŸ˜€"),
    ("bad-encoding", "na\ufffdve", "ï»¿a", "bad-encoding(source)=\ufffd bad-encoding(target)=ï»¿"),
    ("unicode-noise", "zero\u200bwidth \u00ad \ufeff", "\U0001f600 e\u0301", ""),
    ("unicode-noise", "\u3042", "\u0628\u200c", ""),
    ("unicode-noise", "a\u0001\u0085", "b", "unicode-noise(source)=2>0"),
    ("unicode-noise", "a", "\ue000 \U000fffff \ufdd0 \ufffc", "unicode-noise(target)=4>0"),
    ("unicode-noise:maximum=1", "a\u0001", "b", ""),
]
