#!/usr/bin/env bash
# Bilingual encoders of every architecture side by side: the same pairs, read as often.
#
#     examples/papers/bilingual.sh DATA OUTPUT [MODEL...]
#
# Trains the models named, or all in the table below, on DATA/train/en-de but *.research.*, by the
# in-batch ranking loss (bilingual.json) and with the subwords of the shipped model, and prints a
# Markdown table of all in OUTPUT: sentence alignment recovery error on newstest2021 (percent, both
# directions of translation), STS Benchmark in English, seconds to train, sentences a second to
# encode, MB. Finished models are kept, and an interrupted training goes on. Some hours on one
# core. OUTPUT gets, for each model:
#   NAME/      the model
#   NAME.log   the messages of its training
#   NAME.rec   the tables of bitext-evaluate recovery, English originals first
#   NAME.sts   the table of bitext-evaluate sts
#   NAME.speed CPU seconds that 20,000 English sentences took, without those of the start
set -euo pipefail

data=$1
output=$2
shift 2
recipe=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$recipe/common.sh"

models() { # name, architecture
    cat <<END
word word
trigram trigram
wordtrigram word,trigram
weighted weighted
gran gran
lstm lstm
maxblstm max-blstm
blstm blstm
grangru gran-gru
wordmax word+max-blstm
END
}

recovery() { # MODEL [OPTION...]: the tables of both directions of newstest2021
    bitext-evaluate recovery --model "$1" --similarity csls,cosine "${@:2}" \
        "$data/test/newstest2021.en-de.tsv"
    bitext-evaluate recovery --model "$1" --similarity csls,cosine "${@:2}" --scol 2 --tcol 1 \
        "$data/test/newstest2021.de-en.tsv"
}

processor_seconds() { # COMMAND [ARGUMENT...]
    local TIMEFORMAT='%U %S'
    { time "$@" > "$output/vectors.partial" 2>&3; } 3>&2 2>&1 | awk '{ print $1 + $2 }'
}

speed() { # MODEL [OPTION...]: the least of three turns, with the start and for the start alone
    local lines
    for lines in 20000 1; do
        for _ in 1 2 3; do
            head -n "$lines" "$output/sentences.txt" > "$output/lines.partial"
            processor_seconds bitext-embed --model "$1" --language en "${@:2}" \
                -i "$output/lines.partial" -o -
        done | sort -n | head -n 1
    done | awk '{ taken[NR] = $1 } END { printf "%.2f\n", taken[1] - taken[2] }'
    rm "$output"/{lines,vectors}.partial
}

pairs=()
for file in "$data"/train/en-de/*.tsv.gz; do
    case $file in *.research.*) ;; *) pairs+=("$file") ;; esac
done
if [ ! -s "$output/sentences.txt" ]; then # of all pairs, one in 20
    gzip -dc "${pairs[@]}" | awk -F '\t' 'NR % 20 == 1 && ++rows <= 20000 { print $1 }' \
        > "$output/sentences.partial"
    mv "$output/sentences.partial" "$output/sentences.txt"
fi

list=$(chosen "$@")
printf '%s\n' "$list" | while read -r name architecture; do
    train "$name" --languages en,de "${pairs[@]/#/--pairs=}" --settings "$recipe/bilingual.json" \
        --development "$data/dev/newstest2014.de-en.tsv" --dev-scol 2 --dev-tcol 1 \
        --architecture "$architecture" --segmenter "$recipe/../../bitextfilter/pretrained/en-de"
    measure "$name.rec" recovery "$output/$name"
    measure "$name.sts" bitext-evaluate sts --language en --model "$output/$name" \
        "$data/test/sts/stsb.en.tsv"
    measure "$name.speed" speed "$output/$name"
done

printf '| model | error by CSLS | by cosine | STS Benchmark | seconds to train '
printf '| sentences/s | MB |\n|---|---:|---:|---:|---:|---:|---:|\n'
models | while read -r name architecture; do
    [ -s "$output/$name.sts" ] || continue
    speed=$([ ! -s "$output/$name.speed" ] || cat "$output/$name.speed")
    awk -F '\t' -v title="$architecture" -v seconds="$(seconds "$name")" -v speed="$speed" \
        -v lines="$(wc -l < "$output/sentences.txt")" -v bytes="$(cat "$output/$name"/* | wc -c)" '
        $1 == "csls" || $1 == "cosine" { sum[$1] += $4; sets[$1]++ }
        $1 == "stsb.en" { sts = $5 }
        END {
            printf "| %s | %.2f | %.2f | %s | %s | %s | %.0f |\n", title,
                sum["csls"] / sets["csls"], sum["cosine"] / sets["cosine"],
                (sts ~ /[0-9]/ ? sprintf("%.1f", sts) : "-"), seconds,
                (speed + 0 > 0 ? sprintf("%.0f", lines / speed) : "-"), bytes / 1e6
        }' "$output/$name.rec" "$output/$name.sts"
done
