#!/bin/sh
# Train translators between German and English, and from Czech and French, from open data.
#
#     examples/train-translators/train.sh DATA OUTPUT [MODEL...]
#
# MODELs are de-en and en-de, or both if none is named: Transformers of the default shape, by
# settings.json, on the open files of DATA/train/en-de, some of each corpus more and some less often;
# the network with the least cross-entropy on DATA/dev/newstest2014.de-en.tsv is kept. de-en sees the
# pairs three times, in some 8,000 updates; en-de, which is there to judge translations, gets 4,000.
# cs-en and fr-en, only if named, get 8,000 on the open files of their pair and on DATA/train/multi,
# and are judged by talks. A core that is free does about one update a second. An interrupted
# training goes on, and a finished model is kept. THREADS in the environment is how many threads
# compute (1). OUTPUT gets:
#   postedits.tsv   the post-edits, which come tokenised, as running text
#   cs.tsv, fr.tsv  the pairs of DATA/train/multi
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
train() { # NAME SOURCE TARGET [OPTION...]: SOURCE and TARGET are columns of English first files
    name=$1 source=$2 target=$3
    shift 3
    tail -n 1 "$output/$name.log" 2> /dev/null | grep -q ' updates, ' && return
    [ ! -e "$output/$name.training/state.json" ] || set -- "$@" --resume
    bitext-train-translator --languages "${name%-*},${name#*-}" --scol "$source" --tcol "$target" \
        --settings "$recipe/settings.json" --threads "${THREADS:-1}" "$@" \
        -o "$output/$name" 2>> "$output/$name.log" || { tail -n 1 "$output/$name.log" >&2; return 1; }
    rm -r "$output/$name.training"
}
german() { # NAME SOURCE TARGET LENGTH
    post_edits
    train "$1" "$2" "$3" --pairs "$corpora/tatoeba.tsv.gz" --pairs "$corpora/europarl.tsv.gz@3" \
        --pairs "$corpora/bible.tsv.gz@0.3" --pairs "$corpora/php-manual.tsv.gz@0.5" \
        --pairs "$corpora/software.tsv.gz@0.3" --pairs "$corpora/web-ui.tsv.gz@0.2" \
        --pairs "$corpora/docs.tsv.gz@2" --pairs "$output/postedits.tsv@3" \
        --development "$data/dev/newstest2014.de-en.tsv" --dev-scol "$3" --dev-tcol "$2" \
        --set "$4"
}
into_english() { # LANGUAGE
    [ -s "$output/$1.tsv" ] || {
        "$recipe/../papers/make-pairs.sh" "$data" "$1" > "$output/$1.tsv.partial"
        mv "$output/$1.tsv.partial" "$output/$1.tsv"
    }
    language=$1
    set -- --pairs "$output/$language.tsv"
    for file in $(grep "/en-$language/" "$recipe/../train-a-pair/open.txt"); do
        set -- "$@" --pairs "$data/$file"
    done
    train "$language-en" 2 1 "$@" --set training.updates=8000 \
        --development "$data/dev/ted.en-$language.tsv" --dev-scol 2 --dev-tcol 1
}

[ $# -gt 0 ] || set -- de-en en-de
for model; do
    case $model in
        de-en) german de-en 2 1 training.passes=3 ;;
        en-de) german en-de 1 2 training.updates=4000 ;;
        cs-en | fr-en) into_english "${model%-en}" ;;
        *) echo "$0: no model is called $model" >&2; exit 2 ;;
    esac
done
