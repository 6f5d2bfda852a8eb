"""HTML tags as Python's parser sees them, boilerplate of web pages, and damage made on purpose."""

from __future__ import annotations

import random
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bitextfilter.errors import NotFoundError, SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.web import BadEncoding, Boilerplate, HtmlTags


class Collector(HTMLParser):
    """Keeps the names of the tags that are opened."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def first_tag(sentence: str) -> str | None:
    collector = Collector()
    try:
        collector.feed(sentence)
        collector.close()
    except AssertionError:
        pass
    return next(iter(collector.tags), None)


PIECES = ["<", "<", ">", ">", "a", "B", "/", " ", "!", "--", "=", '"', "'", "?", "[", "script", "é"]


def test_tags_are_those_of_the_parser() -> None:
    draw = random.Random(5)
    sentences = ["".join(draw.choices(PIECES, k=draw.randrange(15))) for _ in range(4000)]
    verdict = HtmlTags().check(Pairs(sentences, [""] * len(sentences)))
    said = [None if keep else verdict.reason(i) for i, keep in enumerate(verdict.keep)]
    tags = list(map(first_tag, sentences))
    assert 100 < sum(tag is not None for tag in tags) < 3900
    assert said == [None if tag is None else f"html-tags(source)={tag}" for tag in tags]


def test_a_line_of_opening_tags_takes_no_time() -> None:
    """The parser alone needs minutes for it, for its time grows with the square."""
    assert HtmlTags().check(Pairs(["1 > 0 " + "<a" * 100_000], [""])).keep.all()


LINES = {
    "en": "Copyright 2004 by us|Accept all cookies|Cookie settings|Lost password?|"
    "Log in or register|Please log in to vote|Tweet this on Twitter|Like us on Facebook|"
    "Sign up for our newsletter|"
    "Skip to main content|Toggle navigation|Add to cart|You are here: Home|Back to top|Read more »|"
    "Print this page|Powered by Something 2.0|Last updated: today|Posted by Tom 3 days ago|"
    "Showing 1 to 10 of 50|Sort by: name|€5 incl. 19% VAT|JavaScript is disabled|Permalink|"
    "Your browser does not support video|Leave a reply|Home > News|About us | Sitemap|"
    "By using it you agree to our use of cookies",
    "de": "Diese Seite nutzt Cookies|Wir verwenden auf dieser Seite Cookies|Cookies akzeptieren|"
    "Passwort vergessen?|Anmelden | Registrieren|Auf Facebook teilen|Folgen Sie uns auf Instagram|"
    "Newsletter abonnieren|Zum Inhalt springen|Menü umschalten|In den Warenkorb|"
    "Sie sind hier: Start|Nach oben|Mehr erfahren|Seite drucken|"
    "Letzte Änderung: heute|Verfasst von Tom am 3.4.2005|"
    "Artikel 1 bis 10 von 50|Sortieren nach: Preis|5 € inkl. MwSt.|JavaScript aktivieren|"
    "Kommentar schreiben|Startseite » Neues|Kontakt | Impressum",
    "fr": "Tous droits réservés|Accepter les cookies|Vous acceptez l'usage des cookies|"
    "Mot de passe oublié ?|Se connecter | S'inscrire|Partager sur Twitter|Suivez-nous sur Facebook|"
    "Abonnez-vous à notre newsletter|Aller au contenu|Ajouter au panier|Vous êtes ici : Accueil|"
    "Retour en haut|Lire la suite|Imprimer cette page|Dernière mise à jour : hier|"
    "Publié par Tom le 3/4/2005|Résultats 1 à 10 sur 50|Trier par : prix|5 € TTC|"
    "Activez JavaScript|Laisser un commentaire|Accueil > Actualités|Contact | Mentions légales",
    "cs": "Všechna práva vyhrazena|Tento web používá soubory cookie|Přijmout všechny cookies|"
    "Zapomenuté heslo|Přihlásit se | Registrovat|Sdílet na Facebooku|Sledujte nás na Instagramu|"
    "Přejít na obsah|Přidat do košíku|Nacházíte se zde: Úvod|Zpět nahoru|Číst dále|"
    "Vytisknout stránku|Poslední aktualizace|Řadit podle: ceny|5 Kč včetně DPH|"
    "Přidat komentář|Úvod » Novinky|Kontakt | Obchodní podmínky",
    "es": "Todos los derechos reservados|Este sitio web utiliza cookies|Aceptar las cookies|"
    "¿Ha olvidado su contraseña?|Iniciar sesión o registrarse|Compartir en Facebook|"
    "Síguenos en Twitter|Suscríbete a nuestro boletín|Saltar al contenido|Añadir al carrito|"
    "Está aquí: Inicio|Volver arriba|Leer más|Última actualización|Ordenar por: precio|"
    "5 € IVA incluido|Inicio > Noticias|Contacto | Aviso legal",
}


@pytest.mark.parametrize("language", LINES)
def test_what_web_pages_repeat(language: str) -> None:
    lines = [
        line.replace(" \0 ", " | ") for line in LINES[language].replace(" | ", " \0 ").split("|")
    ]
    kept = Boilerplate().check(Pairs(lines, ["x"] * len(lines))).keep
    assert [line for line, keep in zip(lines, kept, strict=True) if keep] == []


def test_what_a_web_page_tells() -> None:
    told = [
        "Facebook users can share the video with a password of their own.",
        "He read more in the last year, and was back at the top.",
        "Der Datenschutz kommt dabei zu kurz.",
        "Sie legte das Brot in den Warenkorb und ging.",
        "L'accueil des cookies fut bon, dit le site.",
        "Heslo je tajné, nahoru nebo dolů.",
    ]
    assert Boilerplate().check(Pairs(told, told)).keep.all()


def test_a_list_that_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        Boilerplate(file=str(tmp_path / "none.txt")).prepare(None)
    (tmp_path / "list.txt").write_text("fine\n# (\n(\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"list\.txt:3: not a regular expression"):
        Boilerplate(file=str(tmp_path / "list.txt")).prepare(None)


CLEAN = {
    "de": "Über die Straße fährt ein schöner Zug, „ganz langsam“ – für 5 €.",
    "fr": "« Où êtes-vous ? » L’été dernier, ça coûtait 20 € à l’hôtel.",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl „Žižka“.",
    "pl": "Zażółć gęślą jaźń. Świat, „Łódź” i źródło.",
    "pt": "Não, a irmã e o coração: «amanhã» à tarde é uma opção.",
    "ro": "Ăștia au mulțumit; «Într-o zi» ține-ți cuvântul.",
    "tr": "Şarkı, ağaç ve çiçek; İstanbul’da öğrenciler.",
    "vi": "Tiếng Việt có nhiều dấu; “Đây” là một ví dụ.",
    "is": "Þýðir það að ég ætti að fara? Já, „núna“.",
    "ru": "Это «простой» пример – съешь же ещё этих булок.",
    "uk": "Її мрії – це «щось» особливе; Сіль і Рівне.",
    "el": "Καλημέρα, τι κάνετε; «Ωραία».",
    "ar": "مرحبا، كيف حالك؟",
    "hi": "नमस्ते, आप कैसे हैं?",
    "zh": "你好，“世界”！今天天气很好。",
    "ja": "こんにちは、「世界」。コーヒーを飲みます。",
}


def sloppily(data: bytes, codec: str) -> str:
    """Decode each byte by itself, those that the codec lacks as Latin-1."""
    return "".join(bytes([byte]).decode(codec, "ignore") or chr(byte) for byte in data)


def damaged(texts: list[str]) -> list[bool]:
    pairs = Pairs(texts, ["Wort"] * len(texts))
    return (~BadEncoding().check(pairs).keep).tolist()


@pytest.mark.parametrize("language", CLEAN)
def test_utf_8_taken_for_something_else(language: str) -> None:
    text = CLEAN[language]
    once = [sloppily(text.encode(), "cp1252"), text.encode().decode("latin-1")]
    twice = [sloppily(once[0].encode(), "cp1252"), once[1].encode().decode("latin-1")]
    assert damaged([text, text.upper(), *once, *twice]) == [False, False, True, True, True, True]
    assert damaged([once[0].replace("\u00a0", " ").replace("\u00ad", "")]) == [True]


@pytest.mark.parametrize(
    ("codec", "languages"), [("cp1250", "de fr cs pl"), ("cp1251", "ru uk"), ("mac_roman", "de fr")]
)
def test_utf_8_taken_for_other_codings(codec: str, languages: str) -> None:
    texts = [sloppily(CLEAN[language].encode(), codec) for language in languages.split()]
    assert damaged(texts) == [True] * len(texts)
