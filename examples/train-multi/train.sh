#!/bin/sh
# Train a model of 33 languages from open data, taught by two larger encoders.
#
#     examples/train-multi/train.sh DATA MORE OUTPUT
#
# DATA and MORE have the files of open.txt and lessons.txt; more.md says where those of MORE come from.
# The teachers are optional packages: pip install 'bitextfilter[use,e5]'. OUTPUT gets:
#   lessons/        text and the teachers' vectors of it, by lessons.py
#   development/    pairs of English and each of 23 languages: talks, and captions and news
#   ranked/         an encoder, in 3 bits a number
#   exchanged/      the same with other n-grams: more of five languages of other scripts, by ngrams.py
#   encoder/        that, trained on with a larger margin and more rows in three languages
#   positives.tsv, contrasts.tsv, negatives.tsv, text.tsv
#                   training pairs of the classifier, and all sentences, by pairs.py
#   multi/          encoder and classifier: the model
#   held-out.tsv    how good the classifier is on pairs kept from it
# What is there is kept, and an interrupted training goes on when the script is run again. In the
# environment, THREADS is how many threads compute, START a model whose classifier is trained further,
# and SETTINGS are of the classifier, NAME=VALUE a line. open.txt has the columns and the files of
# DATA and MORE, behind @ how often a file is read in a pass; - where the file has a header.
#
# The shipped encoder ended its first stage after 4,000 of 7,000 mini-batches. That had no lessons of E5,
# and none of the last 13 files of lessons.txt. It was trained on twice, before and after the exchange of
# n-grams: without the last nine files, and with all. E5 had read 26,000, then 40,691 sentences of 18
# languages, of 30 to 170 letters, drawn from their files in mono/: 1,191 to 2,500 of each. The
# development pairs were news of WMT, XQuAD and talks, one set a language (training.json of multi). The
# classifier started from that of the multi before each time, with SETTINGS sum_weight=0.5; the last
# time with training.start_share=0.2, training.epochs=1 and training.learning_rate=0.0007, too.
set -eu
IFS='
' # paths are split at line ends only

data=$1 more=$2 output=$3
recipe=$(cd "$(dirname "$0")" && pwd)
languages=en,ar,bg,cs,da,de,el,es,et,fi,fr,he,hi,hu,id,is,it,ja,ko,lt,lv,nl,no,pl,pt,ro,ru,sv,th,tr,uk,vi,zh
files=$(awk -F '\t' -v data="$data" -v more="$more" \
    '{ print ($1 == "-" ? "" : $1 "=") ($2 ~ /^train/ ? data : more) "/" $2 }' "$recipe/open.txt")
export THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"

mkdir -p "$output/development"
for file in "$data"/dev/ted.en-*.tsv; do
    name=$(basename "$file" .tsv | sed 's/ted.//; s/nb$/no/')
    head -n 1000 "$file" | cut -f 1,2 > "$output/development/$name.tsv"
done
for language in ja ru zh; do
    for column in 2 3; do
        cut -f "$column" "$data/dev/sts/stsb.en.tsv" > "$output/one"
        cut -f "$column" "$data/dev/sts/stsb.$language.tsv" | paste "$output/one" -
    done | awk -F '\t' '!seen[$1]++' | head -n 1500 > "$output/development/en-$language.tsv"
done
rm "$output/one"
development=$(for file in "$output"/development/*.tsv; do
    echo "--development=$(basename "$file" .tsv | tr - ,)=$file"
done)
if [ ! -e "$output/lessons.done" ]; then
    python3 "$recipe/lessons.py" "$recipe/lessons.txt" "$output/lessons" "$data" "$more" > "$output/lessons.done.new"
    mv "$output/lessons.done.new" "$output/lessons.done"
fi
export BITS=3
once() { # MODEL OPTION...
    # shellcheck disable=SC2046,SC2086  # an option a line
    "$recipe/../train-a-pair/train-once.sh" "$@" --languages "$languages" \
        $(for file in $files; do echo "--pairs=$file"; done) $(cat "$output/lessons.done") $development
}
once "$output/ranked" --settings "$recipe/settings.json"
[ -e "$output/exchanged" ] || python3 "$recipe/ngrams.py" "$output/ranked" "$output/exchanged" \
    "$output/lessons.done" th=6000 ko=7000 zh=3000 ja=2500 ar=1500
once "$output/encoder" --settings "$recipe/sharpen.json" --start "$output/exchanged"
# shellcheck disable=SC2086  # a file a line
[ -e "$output/negatives.tsv" ] && [ -e "$output/text.tsv" ] ||
    python3 "$recipe/pairs.py" "$output/encoder" "$output" $files
GRADED=
for pair in en-cs en-de; do
    errors=$data/train/quality/catastrophic.$pair.tsv.xz
    [ -e "$errors" ] || continue
    GRADED="$GRADED--graded=$output/graded.$pair.tsv
"
    xz -dc "$errors" | awk -F '\t' -v OFS='\t' '{ print $(NF - 1), $NF, ($1 == "NOT") + 0 }' > "$output/graded.$pair.tsv"
done
# shellcheck disable=SC2046,SC2086  # an option a line
[ -e "$output/multi" ] ||
    bitext-train-classifier --kind words --set training.epochs=2 --set training.keep=last \
        --set training.vector_noise=1 ${START:+"--start=$START"} \
        $(for value in ${SETTINGS:-}; do echo "--set=$value"; done) --model "$output/encoder" \
        --noisy "$output/negatives.tsv" --negatives given --contrasts "$output/contrasts.tsv" \
        $GRADED --text "$output/text.tsv" --set bigrams=4194304 \
        --set training.held_out=0.02 --quantise --threads "$THREADS" -o "$output/multi" \
        "$output/positives.tsv" > "$output/held-out.tsv"
