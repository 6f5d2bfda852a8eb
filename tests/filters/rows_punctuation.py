"""Rules of punctuation: rule, source, target, reason (empty where the pair is kept)."""

ROWS = [
    ("terminal-punctuation", "Yes. No?", "Ja", ""),
    ("terminal-punctuation:minimum=0", "Yes.", "Ja!", ""),
    ("terminal-punctuation:minimum=0", "Yes.", "Ja", "terminal-punctuation=-0.693<0"),
    ("terminal-punctuation:minimum=-1", "a. b.", "a", "terminal-punctuation=-1.39<-1"),
    ("terminal-punctuation:minimum=-1.4", "a. b.", "a. b.", ""),
    ("terminal-punctuation:minimum=-1", "a. b.", "a. b.", "terminal-punctuation=-1.1<-1"),
    ("terminal-punctuation:minimum=0", "Yes.", "是。", ""),
    ("terminal-punctuation", "", "." * 20, "terminal-punctuation=-3.69<-3"),
    ("parentheses", "(a) [b] {c}", "a b c", ""),
    ("parentheses", "a) word :)", "a) Wort :)", ""),
    ("parentheses", "(word)", "（词）", ""),
    ("parentheses", "(word", "(Wort)", "parentheses=1>0"),
    ("parentheses", "(a [b", "a b)", "parentheses=3>0"),
    ("parentheses:maximum=1", "(word", "(Wort)", ""),
    ("parentheses", "(word]", "(Wort)", "parentheses=2>0"),
    ("parentheses", "〈〈", "《", "parentheses=1>0"),
]
