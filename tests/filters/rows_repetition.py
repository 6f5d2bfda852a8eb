"""Rules of repetition: rule, source, target, reason (empty where the pair is kept)."""

LONG = "A piece of text that is said three times over. "

ROWS = [
    ("repetition", "no, no, never", "nein, nein, niemals", ""),
    ("repetition", "lalala", "........", ""),
    ("repetition", "ha ha ha", "haha", ""),
    ("repetition", "abc abc ABC", "abcab cabc", ""),
    ("repetition", "no, no, no, never", "nein", "repetition(source)=no,"),
    ("repetition", "---------", "a", "repetition(source)=---"),
    ("repetition", "nein", "abcabc  abc", "repetition(target)=abc"),
    ("repetition", "a b a b a b", "c", "repetition(source)=a b"),
    ("repetition", "x  x  x  ", "c", "repetition(source)=x  "),
    ("repetition", "哈哈哈哈哈哈哈哈哈", "ha", "repetition(source)=哈哈哈"),
    ("repetition", LONG * 3, LONG * 2, f"repetition(source)={LONG.strip()}"),
    ("repetition:repeats=1,shortest=5", "where where", "wo wo", "repetition(source)=where"),
    ("repetition:repeats=1,shortest=6", "where where", "wo wo", ""),
    ("repetition:longest=10", LONG * 3, "a", ""),
    ("repetition:repeats=3", "abcabcabc", "ABCABCABCABC", "repetition(target)=ABC"),
    ("repetition:shortest=1", "aaa", "bb", "repetition(source)=a"),
    ("repeated-words", "that that is", "die die das", ""),
    ("repeated-words", "I do, I do", "das Haus, das Haus", ""),
    ("repeated-words", "of the one of the other", "a", ""),
    ("repeated-words", "in the House in the house", "a", "repeated-words(source)=in the House"),
    (
        "repeated-words",
        "a",
        "x eins zwei drei eins zwei drei y",
        "repeated-words(target)=eins zwei drei",
    ),
    ("repeated-words", "no no no no", "a", "repeated-words(source)=no no"),
    ("repeated-words:shortest=1", "that THAT is", "a", "repeated-words(source)=that"),
    ("repeated-words:shortest=3", "no no no no", "a", ""),
    ("repeated-words", "Öl im ÖL im", "a", "repeated-words(source)=Öl im"),
]
