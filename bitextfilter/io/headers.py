"""Names of columns and sentences told apart, for lines that may be headers."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

ENDS = (".", "!", "?", "…", "。", "！", "？")
_FEWEST_WORDS, _MANY_WORDS = 4, 8
"""A sentence has the first number of words and an end mark, or the second number of words."""
_NAME = re.compile(
    "source|src|target|tgt|trg|side|texts?|sentences?|segments?|lines?|words?|phrases?|original|"
    "ref|references?|translations?|hyp|hypothes[ei]s|paraphrases?|parse|template|lang|language"
)
"""A word of the names of text columns, beside x and y, and codes of languages of two letters."""

_OTHER_NAMES = """
النص المصدر الهدف الأصل الترجمة اللغة الجملة نص مصدر هدف أصل ترجمة لغة جملة
източник цел оригинал превод текст изречение език
origen destí font original traducció text frase llengua idioma de
zdroj cíl zdrojový cílový originál překlad text věta jazyk
kilde mål kildetekst måltekst original oversættelse tekst sætning sprog
quelle ziel quelltext zieltext quellsatz zielsatz quellsprache zielsprache text satz sprache
ausgangstext zieltext original originaltext übersetzung text satz sprache
πηγή στόχος πρωτότυπο μετάφραση κείμενο πρόταση γλώσσα
origen destino fuente meta original traducción texto frase oración lengua idioma de
منبع مبدأ مقصد هدف اصل ترجمه متن جمله زبان
lähde kohde lähdeteksti kohdeteksti alkuperäinen käännös teksti lause kieli
source cible original originale traduction texte phrase langue de
מקור יעד תרגום טקסט משפט שפה
स्रोत लक्ष्य मूल अनुवाद पाठ वाक्य भाषा
izvor cilj izvornik original prijevod prevod tekst rečenica jezik
forrás cél eredeti fordítás szöveg mondat nyelv
sumber sasaran target asli terjemahan teks kalimat bahasa
origine fonte destinazione originale traduzione testo frase lingua di
原文 訳文 翻訳 原言語 目的言語 原語 訳語 文
원문 번역문 번역 원본 출발어 도착어 문장 텍스트
bron doel brontekst doeltekst brontaal doeltaal origineel vertaling tekst zin taal
kilde mål kildetekst måltekst original oversettelse tekst setning språk
źródło cel źródłowy docelowy oryginał tłumaczenie tekst zdanie język
origem destino fonte alvo original tradução texto frase língua idioma de
sursă țintă sursa ținta original traducere text propoziție limba
источник цель исходный целевой оригинал перевод текст предложение язык
извор циљ оригинал превод текст реченица језик
källa mål källtext måltext original översättning text mening språk
ต้นฉบับ คำแปล
kaynak hedef özgün çeviri metin cümle dil
джерело ціль вихідний цільовий оригінал переклад текст речення мова
nguồn đích gốc bản dịch câu văn ngôn ngữ
源 来源 目标 源语言 目标语言 源语 目标语 源文本 目标文本 原文 译文 原句 译句 翻译 句子 文本 语言
來源 目標 來源語言 目標語言 源語言 來源文字 目標文字 原文 譯文 原句 譯句 翻譯 句子 文字 語言
"""
"""Such words of other languages: those of a line are names beside each other."""

_PARTS = re.compile(r"[\s\d_!-/:-@\[-`{-~]+")


def name_words(text: str) -> list[str]:
    """Return the words of a name, ``en`` and ``text`` of ``en_text1``, in lower case."""
    return [word for word in _PARTS.split(text.casefold()) if word]


def is_name_word(word: str) -> bool:
    """Whether a word is one of the usual names of columns of text, in English."""
    return _NAME.fullmatch(word) is not None


@functools.cache
def name_lists() -> list[Callable[[str], bool]]:
    """Return for each of several languages whether a word is one of the usual names there.

    The names of two columns are in one language; words of two are likely a translation.
    """
    others = (frozenset(line.casefold().split()) for line in _OTHER_NAMES.splitlines())
    return [is_name_word, *(words.__contains__ for words in others if words)]


def are_names(texts: Sequence[str]) -> bool:
    """Whether texts may be the names of columns of text: usual words, or two letters."""
    return any(all(_is_name(text, usual) for text in texts) for usual in name_lists())


def _is_name(text: str, usual: Callable[[str], bool]) -> bool:
    words, code = name_words(text), 0 if " " in text else 2
    return bool(words) and all(usual(word) or len(word) <= code for word in words)


def is_sentence(text: str) -> bool:
    """Whether a text is clearly a sentence, by its words and its end."""
    words = len(text.split())
    return words >= _MANY_WORDS or (words >= _FEWEST_WORDS and text.rstrip().endswith(ENDS))
