#!/bin/sh
# Score the noisy corpus by everything there is.
#
#     examples/wmt18-in-miniature/score.sh DATA OUT [TRANSLATORS]
#
# OUT holds what make-corpus.sh made and gets scored.tsv.gz: of the filtered rows en, de and label, and
# a column of each score, higher is better; and raw.tsv.gz, the same of all rows with cosine, csls and
# mlp alone. Of the model en-de (MODEL in the environment names another): cosine, csls, mlp if it has a
# classifier, and the paper's MLP on its vectors (mlp.json) with the six sets of negatives of the
# paper's table 5, mlp-random and mlp-20 to mlp-100. TRANSLATORS is a folder of what is trained
# elsewhere, each only used if it is there:
#   de-en, en-de   models of bitext-train-translator: translation, dual and, with language models of
#                  the monolingual text in DATA, nmt+lm
#   pivot          an encoder with a decoder of a third language: pivot, its cosine
# Scores that are there already (OUT/columns) are not computed again. Some minutes on two cores.
set -eu

data=$1
output=$2
translators=${3:-/nowhere}
model=${MODEL:-en-de}
recipe=$(cd "$(dirname "$0")" && pwd)
noisy=$output/filtered.tsv.gz
columns=$output/columns
export LC_ALL=C PYTHONUTF8=1
mkdir -p "$columns"
measures='cosine csls mlp'
[ ! -e "$model/config.json" ] || [ -e "$model/classifier.safetensors" ] || measures='cosine csls'

column() { # NAME COMMAND...: keep the scores that a command writes, one a line, unless they are there
    name=$1
    shift
    [ -e "$columns/$name" ] && return
    echo "$0: $name" >&2
    "$@" > "$columns/$name.partial"
    mv "$columns/$name.partial" "$columns/$name"
}
levenshtein() { gzip -dc "$noisy" | python "$recipe/levenshtein.py"; }
score() { bitext-score -q --score-only --digits 9 -i "$noisy" "$@"; }
classifier() { # NAME NEGATIVES: the paper's MLP, and its scores
    [ -e "$columns/$1" ] && return
    [ -d "$output/$1" ] || bitext-train-classifier -q --model "$model" -o "$output/$1" \
        --noisy "$noisy" --negatives "$2" --settings "$recipe/mlp.json" \
        "$output/positives.tsv" > "$output/$1.log"
    column "$1" score --model "$output/$1" --similarity mlp
}
language_models() {
    [ -e "$output/de.arpa.gz" ] && return
    gzip -dc "$data/mono/en.mixed.research.txt.gz" |
        bitext-train-language-model -q -o "$output/en.arpa.gz"
    gzip -dc "$data/mono/de.news.research.txt.gz" "$data/mono/de.law.txt.gz" |
        bitext-train-language-model -q -o "$output/de.arpa.gz"
}

column levenshtein levenshtein
for name in $measures; do
    column "$name" score --model "$model" --similarity "$name"
done

if [ -d "$translators/de-en" ] && [ -d "$translators/en-de" ]; then
    language_models
    column judged score --similarity translation,dual,log-linear \
        --translator "$translators/en-de,$translators/de-en" \
        --language-models "$output/en.arpa.gz,$output/de.arpa.gz"
    column translation cut -f 1 "$columns/judged"
    column dual cut -f 2 "$columns/judged"
    column nmt+lm cut -f 3 "$columns/judged"
fi
if [ -d "$translators/pivot" ]; then
    column pivot score --model "$translators/pivot" --similarity cosine
fi

classifier mlp-random random
for percent in 20 40 60 80 100; do
    classifier "mlp-$percent" "worst:$percent%"
done

table() { # FILE NAME...: the rows of $noisy with the columns that there are
    table=$output/$1
    shift
    header=en'	'de'	'label
    for name; do
        shift
        [ -e "$columns/$name" ] || continue
        header="$header	$name"
        set -- "$@" "$columns/$name"
    done
    {
        printf '%s\n' "$header"
        gzip -dc "$noisy" | paste - "$@"
    } | gzip -n > "$table.partial"
    mv "$table.partial" "$table"
    echo "$table: $header"
}
table scored.tsv.gz levenshtein cosine csls mlp translation dual nmt+lm pivot \
    mlp-random mlp-20 mlp-40 mlp-60 mlp-80 mlp-100

noisy=$output/noisy.tsv.gz
columns=$output/columns/raw
mkdir -p "$columns"
for name in $measures; do
    column "$name" score --model "$model" --similarity "$name"
done
table raw.tsv.gz cosine csls mlp
