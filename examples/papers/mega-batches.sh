#!/bin/sh
# The gain of mega-batches (Wieting & Gimpel 2018), by seeds, passes and data.
#
#     examples/papers/mega-batches.sh DATA OUTPUT [MODEL...]
#
# Trains `word` with M = 1, 20 and 40 on the English paraphrases of make-paraphrases.sh, by three
# seeds and for three times as long; on the open English-German pairs; and on as many of those as
# there are paraphrases. Settings are those in paper3.json, but for negatives of a sentence's own
# side. Prints a Markdown table of all in OUTPUT, a line for each M. Finished models are kept, and
# an interrupted training goes on. An hour on one core. OUTPUT gets for each model what paper3.sh
# has.
set -eu

data=$1
output=$2
shift 2
recipe=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$recipe/common.sh"

models() { # name, data, M, passes, seed
    for seed in 1 2 3; do
        for mega in 1 20 40; do echo "en-$mega-$seed en $mega 5 $seed"; done
    done
    for mega in 1 40; do echo "en-$mega-long en $mega 15 1"; done
    for mega in 1 40; do echo "few-$mega few $mega 5 1"; done
    for mega in 1 20 40; do echo "ende-$mega ende $mega 2 1"; done
}

paraphrases
if [ ! -s "$output/few.tsv" ]; then
    for file in "$data"/train/en-de/*.tsv.gz; do
        case $file in *.research.*) ;; *) gzip -dc "$file" | cut -f 1,2 ;; esac
    done > "$output/ende.tsv"
    sample "$(wc -l < "$output/train.tsv")" "$output/ende.tsv" > "$output/few.partial"
    mv "$output/few.partial" "$output/few.tsv"
fi
set -- $(chosen "$@" | cut -d ' ' -f 1) # names have no spaces
for name; do
    models | grep "^$name " | while read -r _ pairs mega passes seed; do
        if [ "$pairs" = en ]; then
            set -- --languages en,en --pairs "$output/train.tsv" --development "$output/dev.tsv"
        else
            set -- --languages en,de --pairs "$output/$pairs.tsv" \
                --development "$data/dev/newstest2014.de-en.tsv" --dev-scol 2 --dev-tcol 1 \
                --segmenter "$recipe/../../bitextfilter/pretrained/en-de" \
                --set training.triplet_sides=both
        fi
        every=$([ "$pairs" = ende ] && echo 2000 || echo 500)
        train "$name" "$@" --settings "$recipe/paper3.json" --set training.negatives=same \
            --set training.mega_batch="$mega" \
            --set training.passes="$passes" --set training.seed="$seed" \
            --set training.validate_every=$((every / mega * mega))
        measure "$name.sts" bitext-evaluate sts --language en --model "$output/$name" \
            "$data/test/sts/stsb.en.tsv" "$data"/test/sts/sts201[2-5].*.tsv \
            "$data"/dev/sts/sts2016.*.tsv
    done
done

printf '| pairs | passes | M | trainings | STS Benchmark | all of 2012–2015 | STS 2016 '
printf '| recovery error, %% |\n|---|---:|---:|---:|---:|---:|---:|---:|\n'
models | sort -t ' ' -k 2,2 -k 4,4n -k 3,3n | while read -r name pairs mega passes _; do
    [ -s "$output/$name.sts" ] || continue
    printf '%s\t' "$pairs" "$passes" "$mega"
    sed -n 's/.*lowest recovery error \([0-9.]*\) .*/\1/p' "$output/$name.log" | tr '\n' '\t'
    awk -F '\t' '
        $1 == "stsb.en" { benchmark = $5 }
        $1 == "mean sts2016" { later = $5 }
        $1 ~ /^sts201[2-5]\./ { sum += $5; sets++ }
        END { printf "%s\t%s\t%s\n", benchmark, sum / sets, later }' "$output/$name.sts"
done | awk -F '\t' '
    { key = $1 " | " $2 " | " $3 }
    !(key in count) { order[++keys] = key }
    { count[key]++; for (i = 4; i <= 7; i++) sum[key, i] += $i }
    END {
        for (k = 1; k <= keys; k++) {
            key = order[k]
            n = count[key]
            printf "| %s | %d | %.1f | %.1f | %.1f | %.2f |\n", key, n, sum[key, 5] / n,
                sum[key, 6] / n, sum[key, 7] / n, sum[key, 4] / n
        }
    }'
