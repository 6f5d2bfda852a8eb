"""Rules of fluency, by two language models in which sums can be done by hand."""

from pathlib import Path

# Of <unk>, </s>, a and b they have log10 probabilities of -3, -1, and -1 and -2 or -0.5 and -3.
ONE, TWO = (str(Path(__file__).with_name(f"{name}.arpa")) for name in ("one", "two"))
DIFFERENCE = f"cross-entropy-difference:source={TWO},source-general={ONE}"
CLASSIFIER = f"language-model-classifier:source={ONE},target={TWO}"

ROWS = [
    (f"perplexity:source={ONE},maximum=20", "a a", "z z", ""),
    (f"perplexity:source={ONE},maximum=20", "b b b", "a", "perplexity(source)=56.2>20"),
    (f"perplexity:target={ONE},maximum=20", "b b b", "a", ""),
    (f"perplexity:target={ONE},maximum=20", "a", "b b b", "perplexity(target)=56.2>20"),
    (f"perplexity:source={ONE},maximum=20", "", "", ""),
    (
        f"perplexity:source={ONE},target={ONE},minimum=11,maximum=99",
        "a",
        "A",
        "perplexity(source)=10<11 perplexity(target)=100>99",
    ),
    (f"perplexity:source={ONE},lowercase=yes,maximum=20", "A  a\u200b", "z", ""),
    (f"perplexity:source={ONE},units=tokens,maximum=50", "a.a", "", ""),
    (f"perplexity:source={ONE},maximum=50", "a.a", "", "perplexity(source)=100>50"),
    (f"cross-entropy:source={ONE},maximum=4", "a a", "b", ""),
    (f"cross-entropy:source={ONE},maximum=4", "b b b", "b", "cross-entropy(source)=5.81>4"),
    (f"cross-entropy:source={ONE},units=characters,per=word,maximum=14", "a", "", ""),
    (
        f"cross-entropy:source={ONE},units=characters,per=word,maximum=14",
        "aa b",
        "",
        "cross-entropy(source)=15.5>14",
    ),
    (f"cross-entropy-gap:source={ONE},target={ONE},maximum=2", "b b b", "b b b", ""),
    (f"cross-entropy-gap:source={ONE},target={ONE},maximum=2", "a b", "b a", ""),
    (
        f"cross-entropy-gap:source={ONE},target={ONE},maximum=2",
        "a",
        "b b b",
        "cross-entropy-gap=2.49>2",
    ),
    (
        f"cross-entropy-gap:source={ONE},target={ONE}",
        "a",
        "z z z z z z z z " * 9,
        "",
    ),
    (
        f"cross-entropy-gap:source={ONE},target={ONE},units=characters",
        "a",
        "zzzzzzzz",
        "cross-entropy-gap=38.2>15",
    ),
    (DIFFERENCE, "a a", "", ""),
    (DIFFERENCE, "z z", "b", ""),
    (DIFFERENCE, "b", "", "cross-entropy-difference(source)=1.66>0"),
    (
        f"{DIFFERENCE},target={TWO},target-general={ONE}",
        "a",
        "b b",
        "cross-entropy-difference(target)=2.21>0",
    ),
    (CLASSIFIER, "b", "a", ""),
    (CLASSIFIER, "", "\u3000", ""),
    (
        CLASSIFIER,
        "a",
        "b",
        "language-model-classifier(source)=0.24<0.5 language-model-classifier(target)=0.0909<0.5",
    ),
    (f"{CLASSIFIER},minimum=0.8", "b", "a", "language-model-classifier(target)=0.76<0.8"),
    (CLASSIFIER, "b", "b " * 500, "language-model-classifier(target)=1e-300<0.5"),
]
