#!/bin/sh
# Train translators between German and English from open data.
#
#     examples/train-translators/train.sh DATA OUTPUT [MODEL...]
#
# MODELs are de-en and en-de, or both if none is named: Transformers of the default shape, by
# settings.json, on the open files of DATA/train/en-de, some of each corpus more and some less often;
# the network with the least cross-entropy on DATA/dev/newstest2014.de-en.tsv is kept. de-en sees the
# pairs three times, in some 8,000 updates; en-de, which is there to judge translations, gets 4,000. A
# core that is free does about one update a second. An interrupted training goes on, and a finished
# model is kept. THREADS in the environment is how many threads compute (1). OUTPUT gets:
#   postedits.tsv   the post-edits, which come tokenised, as running text
#   de-en/, en-de/  the models, and the messages of their trainings in NAME.log
set -eu

data=$1
output=$2
shift 2
recipe=$(cd "$(dirname "$0")" && pwd)
corpora=$data/train/en-de
mkdir -p "$output"

running_text() { # LANGUAGE COLUMN: a side of the post-edits, detokenised
    gzip -dc "$corpora/postedits.tsv.gz" | cut -f "$2" |
        sacremoses --quiet --language "$1" --processes 1 detokenize > "$output/postedits.$1"
}
post_edits() {
    [ -s "$output/postedits.tsv" ] && return
    running_text en 1
    running_text de 2
    paste "$output/postedits.en" "$output/postedits.de" > "$output/postedits.tsv.partial"
    rm "$output/postedits.en" "$output/postedits.de"
    mv "$output/postedits.tsv.partial" "$output/postedits.tsv"
}
train() { # NAME LANGUAGES SOURCE TARGET OPTION: SOURCE and TARGET are columns of English first files
    tail -n 1 "$output/$1.log" 2> /dev/null | grep -q ' updates, ' && return
    resume=
    [ ! -e "$output/$1.training/state.json" ] || resume=--resume
    # shellcheck disable=SC2086  # no option, or one
    bitext-train-translator --languages "$2" --scol "$3" --tcol "$4" \
        --pairs "$corpora/tatoeba.tsv.gz" --pairs "$corpora/europarl.tsv.gz@3" \
        --pairs "$corpora/bible.tsv.gz@0.3" --pairs "$corpora/php-manual.tsv.gz@0.5" \
        --pairs "$corpora/software.tsv.gz@0.3" --pairs "$corpora/web-ui.tsv.gz@0.2" \
        --pairs "$corpora/docs.tsv.gz@2" --pairs "$output/postedits.tsv@3" \
        --development "$data/dev/newstest2014.de-en.tsv" --dev-scol "$4" --dev-tcol "$3" \
        --settings "$recipe/settings.json" --set "$5" --threads "${THREADS:-1}" $resume \
        -o "$output/$1" 2>> "$output/$1.log" || { tail -n 1 "$output/$1.log" >&2; return 1; }
    rm -r "$output/$1.training"
}

[ $# -gt 0 ] || set -- de-en en-de
post_edits
for model; do
    case $model in
        de-en) train de-en de,en 2 1 training.passes=3 ;;
        en-de) train en-de en,de 1 2 training.updates=4000 ;;
        *) echo "$0: no model is called $model" >&2; exit 2 ;;
    esac
done
