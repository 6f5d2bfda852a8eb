"""The lines that web pages repeat: menus, notices, buttons, addresses. None is of a real site."""

from __future__ import annotations

import random

_LINES = {
    "en": (
        "© {year} {company}. All rights reserved.",
        "Copyright {year} {company} | Terms of Use | Privacy Policy | Imprint",
        "This website uses cookies to improve your experience. Accept all cookies | Settings",
        "By continuing to browse {domain} you agree to our use of cookies.",
        "{trail}",
        "{trail}",
        "{menu}",
        "{menu}",
        "Log in | Register | Forgot your password?",
        "Share on Facebook | Tweet | Share on LinkedIn | E-mail this page",
        "Add to cart - {price} incl. VAT, plus shipping",
        "Showing {number} to {number} of {number} results - Sort by: price | name | rating",
        "Posted by {name} on {date} | {number} comments | Reply",
        "Contact: {mail} | Phone: {phone} | {domain}",
        "Subscribe to our newsletter: enter your e-mail address | Unsubscribe",
        "Last updated: {date} - Views: {number} - Print this page",
        "« Previous | 1 | 2 | 3 | ... | {number} | Next »",
        "Powered by {company} - {domain}/help/{number}",
        "Skip to content | Toggle navigation | Search | Menu | Close",
        "You are here: {trail}",
        "Read more » | Comments ({number}) | Permalink | Tags: {menu}",
        "http://www.{domain}/index.php?id={number}&lang=en",
    ),
    "de": (
        "© {year} {company}. Alle Rechte vorbehalten.",
        "Copyright {year} {company} | AGB | Datenschutz | Impressum",
        "Diese Website verwendet Cookies. Alle Cookies akzeptieren | Einstellungen",
        "Durch die weitere Nutzung von {domain} stimmen Sie der Verwendung von Cookies zu.",
        "{trail}",
        "{trail}",
        "{menu}",
        "{menu}",
        "Anmelden | Registrieren | Passwort vergessen?",
        "Auf Facebook teilen | Twittern | Auf LinkedIn teilen | Seite per E-Mail senden",
        "In den Warenkorb - {price} inkl. MwSt., zzgl. Versandkosten",
        "Artikel {number} bis {number} von {number} - Sortieren nach: Preis | Name | Bewertung",
        "Verfasst von {name} am {date} | {number} Kommentare | Antworten",
        "Kontakt: {mail} | Telefon: {phone} | {domain}",
        "Newsletter abonnieren: E-Mail-Adresse eingeben | Abmelden",
        "Zuletzt geändert: {date} - Aufrufe: {number} - Seite drucken",
        "« Zurück | 1 | 2 | 3 | ... | {number} | Weiter »",
        "Powered by {company} - {domain}/hilfe/{number}",
        "Zum Inhalt springen | Navigation umschalten | Suche | Menü | Schließen",
        "Sie sind hier: {trail}",
        "Weiterlesen » | Kommentare ({number}) | Permalink | Schlagwörter: {menu}",
        "http://www.{domain}/index.php?id={number}&lang=de",
    ),
    "fr": (
        "© {year} {company}. Tous droits réservés.",
        "Copyright {year} {company} | CGV | Confidentialité | Mentions légales",
        "Ce site utilise des cookies. Accepter tous les cookies | Paramètres",
        "En poursuivant votre navigation sur {domain}, vous acceptez l'utilisation de cookies.",
        "{trail}",
        "{trail}",
        "{menu}",
        "{menu}",
        "Se connecter | S'inscrire | Mot de passe oublié ?",
        "Partager sur Facebook | Tweeter | Partager sur LinkedIn | Envoyer cette page",
        "Ajouter au panier - {price} TTC, hors frais de port",
        "Résultats {number} à {number} sur {number} - Trier par : prix | nom | note",
        "Publié par {name} le {date} | {number} commentaires | Répondre",
        "Contact : {mail} | Téléphone : {phone} | {domain}",
        "Abonnez-vous à notre lettre d'information : votre adresse e-mail | Se désabonner",
        "Dernière mise à jour : {date} - Vues : {number} - Imprimer cette page",
        "« Précédent | 1 | 2 | 3 | ... | {number} | Suivant »",
        "Propulsé par {company} - {domain}/aide/{number}",
        "Aller au contenu | Basculer la navigation | Recherche | Menu | Fermer",
        "Vous êtes ici : {trail}",
        "Lire la suite » | Commentaires ({number}) | Permalien | Mots-clés : {menu}",
        "http://www.{domain}/index.php?id={number}&lang=fr",
    ),
}

_SECTIONS = {
    "en": "Home Products Services About Contact News Downloads Support Shop Jobs Partners Events "
    "Gallery Blog Forum Press Careers Hotels Accessories Shoes Software Health Travel Sale",
    "de": "Startseite Produkte Leistungen Unternehmen Kontakt Aktuelles Downloads Hilfe Shop Jobs "
    "Partner Termine Galerie Blog Forum Presse Karriere Hotels Zubehör Schuhe Software Gesundheit "
    "Reisen Angebote",
    "fr": "Accueil Produits Services Entreprise Contact Actualités Téléchargements Assistance "
    "Boutique Emplois Partenaires Agenda Galerie Blog Forum Presse Carrières Hôtels Accessoires "
    "Chaussures Logiciels Santé Voyages Soldes",
}

_DATES = {"en": "{month:02}/{day:02}/{year}", "de": "{day}.{month}.{year}"}
_DATES["fr"] = "{day:02}/{month:02}/{year}"
_PRICES = {"en": "€{euros}.{cents:02}", "de": "{euros},{cents:02} €", "fr": "{euros},{cents:02} €"}
_COMPANIES = {"en": ("Ltd", "Inc.", "Group"), "de": ("GmbH", "AG", "KG"), "fr": ("SA", "SARL")}

_SURNAMES = (
    "Adams Albrecht Baker Becker Bernard Brandt Clark Dubois Fischer Girard Harris Hoffmann Jensen "
    "Keller Lambert Lehmann Martin Meyer Miller Moreau Novak Petit Richter Rossi Schulz Turner "
    "Vogel Walker Weber Winter"
)
_FORENAMES = "Anna Ben Carla David Emma Felix Hugo Julia Laura Marc Nina Paul Sara Thomas"

LANGUAGES = tuple(_LINES)
"""The languages that there are lines in; English stands in for the others."""


def boilerplate_line(chooser: random.Random, language: str) -> str:
    """Return a line of boilerplate in *language*, with names and figures drawn by *chooser*."""
    spoken = language if language in _LINES else "en"
    return chooser.choice(_LINES[spoken]).format_map(_Fields(chooser, spoken))


class _Fields:
    """What stands for the names in braces: drawn anew each time."""

    def __init__(self, chooser: random.Random, language: str) -> None:
        self._chooser = chooser
        self._language = language

    def __getitem__(self, name: str) -> str:
        value: str = getattr(self, f"_{name}")()
        return value

    def _year(self) -> str:
        return str(self._chooser.randint(1998, 2024))

    def _number(self) -> str:
        return str(self._chooser.randint(2, 9999))

    def _surname(self) -> str:
        return self._chooser.choice(_SURNAMES.split())

    def _company(self) -> str:
        return f"{self._surname()} {self._chooser.choice(_COMPANIES[self._language])}"

    def _domain(self) -> str:
        end = self._chooser.choice(("com", "org", "net", self._language.replace("en", "info")))
        return f"{self._surname().lower()}-{self._surname().lower()}.{end}"

    def _mail(self) -> str:
        return f"{self._chooser.choice(('info', 'contact', 'office'))}@{self._domain()}"

    def _name(self) -> str:
        return f"{self._chooser.choice(_FORENAMES.split())} {self._surname()}"

    def _phone(self) -> str:
        parts = (self._chooser.randint(10, 9999) for _ in range(3))
        return f"+{self._chooser.randint(30, 49)} {' '.join(map(str, parts))}"

    def _date(self) -> str:
        day, month = self._chooser.randint(1, 28), self._chooser.randint(1, 12)
        return _DATES[self._language].format(day=day, month=month, year=self._year())

    def _price(self) -> str:
        euros, cents = self._chooser.randint(1, 999), self._chooser.randint(0, 99)
        return _PRICES[self._language].format(euros=euros, cents=cents)

    def _trail(self) -> str:
        """A breadcrumb trail from the first page on."""
        first, *others = _SECTIONS[self._language].split()
        steps = self._chooser.sample(others, self._chooser.randint(2, 5))
        return self._chooser.choice((" > ", " » ", " / ")).join([first, *steps])

    def _menu(self) -> str:
        sections = _SECTIONS[self._language].split()
        items = self._chooser.sample(sections, self._chooser.randint(4, 9))
        return self._chooser.choice((" | ", " · ", " - ")).join(items)
