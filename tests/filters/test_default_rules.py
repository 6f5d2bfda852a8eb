"""The default rules keep right rows, short ones and all, and drop what is like them but wrong."""

from __future__ import annotations

import pytest

from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.pipeline import Pipeline
from bitextfilter.filters.registry import parse_rules, usable

RIGHT = [
    ("en,zh", "Stop!", "停！"),
    ("en,zh", "Who is there?", "谁？"),
    ("en,zh", "The hit song is Geronimo by Sheppard.", "大熱的歌曲是由Sheppard演唱的Geronimo。"),
    ("en,th", "Go!", "ไป"),
    ("en,tr", "I will not be able to come.", "Gelemeyeceğim."),
    ("en,fi", "I wonder if he is at home, too.", "Onkohan hän kotonakin?"),
    ("en,hu", "For the sake of your houses.", "Házaitokért."),
    ("en,de", "Visit www.example.org today.", "Besuchen Sie heute www.example.org!"),
    ("en,de", "Write to info@example.org now.", "Schreiben Sie jetzt an info@example.org."),
    ("en,de", "See www.example.org.", "Siehe www.example.org."),
    ("en,ru", "Hello? Hello? Hello?", "Алло? Алло? Алло?"),
    ("zh,en", "访问https://example.org。", "Visit https://example.org."),
    ("en,de", "Bye bye bye!", "Tschüss, tschüss, tschüss!"),
    ("ru,en", "Ха-ха-ха-ха!", "Ha ha ha ha!"),
    ("en,de", "Blah, blah, blah, he said.", "Bla, bla, bla, sagte er."),
    ("cs,en", "Hádáte se se svým budíkem?", "Do you argue with your alarm clock?"),
    ("en,nl", "Okay.", "Okay."),
    ("en,de", "Hamburg", "Hamburg"),
    ("af,en", "Vriend.", "Friend."),
    ("en,ru", "'Yes!'", '"- Да!"'),
    ("en,tr", "It rose by 40% in one year.", "Bir yılda %40 arttı."),
    ("en,cs", "You read on the iPad, then on the iPhone.", "Čtete na iPadu a pak na iPhonu."),
    ("en,xh", "Tom lives in Boston.", "uTom uhlala eBoston."),
    ("en,de", "Go to File > New > Other > All rows.", "Gehen Sie zu Datei > Neu > Mehr > Zeilen."),
    ("arz,en", "الأسعار قلت الأيام دي.", "Prices have dropped recently."),
    ("nn,en", "Har du noen gang sett en bjørn på fjellet?", "Have you ever seen a bear up there?"),
    ("ja,en", "（西日本新聞社提供）", "(Courtesy of the newspaper)"),
    ("ku,en", "کچەکە هیچ بایەخی بە ئێمە نەدا.", "The girl paid no attention to us."),
    (
        "en,az-Cyrl",
        "All people are born free and equal.",
        "Бүтүн инсанлар азад вә бәрабәр доғулурлар.",
    ),
]
WRONG = [
    ("en,zh", "We do not know what they were talking about.", "不懂。", "length-ratio"),
    ("en,de", "What a nice house you have there.", "Ja.", "length-ratio"),
    ("en,de", "www.example.org", "www.example.org", "urls"),
    ("en,de", "a@example.org, b@example.org now", "an a@example.org, b@example.org", "urls"),
    ("en,de", "He said that that that that was it.", "Er sagte, das sei es.", "repetition"),
    ("en,de", "He said it's it's it's over.", "Er sagte, es sei vorbei.", "repetition"),
    ("en,de", "As we all go, we all go, we all go, go", "Wir gehen, gehen", "repetition"),
    ("en,de", "New York City", "New York City", "identical"),
    ("zh,ja", "我们现在回家", "我们现在回家", "identical"),
    ("en,de", "Copy %1 files", "Dateien werden kopiert", "placeholders"),
    ("en,de", "Copy %1 files", "Kopiere % 1 Dateien", "placeholders"),
    ("en,de", "your accountHome pageContact", "Ihr Konto", "glued-words"),
    ("en,de", "Home > News > Sport > Contact", "Start > Neues > Sport > Kontakt", "breadcrumbs"),
    (
        "en,de",
        "Contact: a@b.org | Phone: 12 34",
        "Kontakt: a@b.org | Telefon: 12 34",
        "boilerplate",
    ),
    (
        "en,de",
        "Ils sont tous rentrés à la maison hier soir.",
        "Alle gingen nach Hause.",
        "language",
    ),
    ("en,sr", "Wir gehen nach Hause.", "Wir gehen jetzt alle nach Hause, es ist spät.", "language"),
]


def verdict(pair: str, source: str, target: str) -> str:
    languages = tuple(pair.split(","))
    pipeline = Pipeline(usable(parse_rules(["default"]), languages)[0])
    return pipeline.check(Pairs([source], [target], languages)).verdict(0)


@pytest.mark.parametrize(("pair", "source", "target"), RIGHT)
def test_a_right_row_stays(pair: str, source: str, target: str) -> None:
    assert verdict(pair, source, target) == "keep"


@pytest.mark.parametrize(("pair", "source", "target", "rule"), WRONG)
def test_a_row_like_it_that_is_wrong_goes(pair: str, source: str, target: str, rule: str) -> None:
    assert rule in verdict(pair, source, target)
