#!/bin/sh
# The pivot-based baseline of Kim et al. 2019: English and German meet in French.
#
#     examples/papers/pivot.sh DATA OUTPUT
#
# Trains encoders of English and German whose decoder writes French (Schwenk & Douze 2017), by the
# settings in pivot.json, on the open files of DATA/train/en-fr and DATA/train/de-fr, validates them
# on DATA/dev/newstest2014.de-en.tsv, and prints a Markdown table of the sentence alignment recovery
# error on newstest2021 (percent; both directions of translation). No English-German pair is
# trained on; but the files share sentences, the German-French ones were made by way of English, and
# so much of what is said in English is said in German, too. A finished model is kept, and an
# interrupted training goes on. There are 6,100 updates, of which one thread does 1.9 in a CPU second:
# it should take less than an hour on two cores. OUTPUT gets:
#   pivot/      the model
#   pivot.log   the messages of its training
#   pivot.rec   the tables of bitext-evaluate recovery, English originals first
set -eu
IFS='
' # paths are split at line ends only

data=$1
output=$2
recipe=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$recipe/common.sh"

recovery() { # MODEL [OPTION...]: the tables of both directions of newstest2021
    model=$1
    shift
    bitext-evaluate recovery --model "$model" --similarity csls,cosine "$@" \
        "$data/test/newstest2021.en-de.tsv"
    bitext-evaluate recovery --model "$model" --similarity csls,cosine "$@" --scol 2 --tcol 1 \
        "$data/test/newstest2021.de-en.tsv"
}

files() { # OPTION PAIR: the open files of two languages, as options
    grep "/$2/" "$recipe/../train-a-pair/open.txt" | sed "s|^|$1=$data/|"
}

# shellcheck disable=SC2046  # an option a line
train pivot --languages en,de --pivot fr --settings "$recipe/pivot.json" \
    $(files --source-pivot en-fr) $(files --target-pivot de-fr) \
    --development "$data/dev/newstest2014.de-en.tsv" --dev-scol 2 --dev-tcol 1
measure pivot.rec recovery "$output/pivot"

printf '| model | error by CSLS | by cosine | seconds to train |\n|---|---:|---:|---:|\n'
awk -F '\t' -v seconds="$(seconds pivot)" '
    $1 == "csls" || $1 == "cosine" { sum[$1] += $4; sets[$1]++ }
    END { printf "| pivot | %.2f | %.2f | %s |\n", sum["csls"] / sets["csls"],
              sum["cosine"] / sets["cosine"], seconds }' "$output/pivot.rec"
