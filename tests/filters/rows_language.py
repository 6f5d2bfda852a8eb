"""Rules of language; the tests' pairs are English and German where nothing else is said."""

EN = "The committee will meet again on Tuesday to discuss the budget."
DE = "Der Ausschuss tritt am Dienstag wieder zusammen, um den Haushalt zu beraten."
FR = "La commission se réunira de nouveau mardi pour discuter du budget."
RU = "Комитет снова соберётся во вторник, чтобы обсудить бюджет."

ROWS = [
    ("language", EN, DE, ""),
    ("language", EN, "Ja!", ""),
    ("language", "Oslo 2020", "12 %", ""),
    ("language:letters=0", "", "", ""),
    ("language:minimum=1.5e-323", EN, DE, ""),
    ("language:minimum=0.5,maximum=1", EN, EN, "language(target)=..."),
    ("language:minimum=0.5", EN, RU, "language(target)=..."),
    ("language:minimum=0.5", FR, DE, "language(source)=..."),
    ("language:minimum=0.5", EN, FR, "", ("en", "fr")),
    ("language:minimum=0.5", EN, RU, "", ("en", "ru")),
]
