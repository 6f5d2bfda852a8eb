#!/bin/sh
# Sjöblom et al. 2018 in small: word averaging and GRAN on clean and noisy pairs, by segmentation.
#
#     examples/papers/paper4.sh DATA OUTPUT [MODEL...]
#
# Trains the models named, or all eight, by the contrastive loss (paper4.json), measures them on
# MSRPC (a perceptron trained on its training part), SICK 2014 and STS 2014, and prints a Markdown
# table of all in OUTPUT. A model is called after its encoder (wa, gran), the percentage of pairs
# that are random ones instead (0, 30), and its segmentation (none, morfessor): gran-30-none.
# Finished models are kept, and an interrupted training goes on. PAIRS in the environment is how
# many pairs are drawn to train on (all), PASSES how often they are read (3); a folder holds models
# of one choice only. An hour on one core. OUTPUT gets, for each model:
#   NAME/         the model
#   NAME.log      the messages of its training
#   NAME.sts      the table of bitext-evaluate sts
#   NAME.msrpc    that of bitext-evaluate paraphrase, by concatenated vectors as in the paper
#   NAME.products the same by differences and products of the vectors
set -eu

data=$1
output=$2
shift 2
recipe=$(cd "$(dirname "$0")" && pwd)
sts=$data/test/sts
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$recipe/common.sh"

models() { # name, architecture, percentage of noise, segmentation
    for model in wa gran; do
        architecture=$([ "$model" = wa ] && echo word || echo gran-gru)
        for noise in 0 30; do
            for segmentation in none morfessor; do
                echo "$model-$noise-$segmentation $architecture $noise $segmentation"
            done
        done
    done
}

noisy() { # PERCENT: sample.tsv, with this share of second sides from random other rows
    awk -F '\t' -v OFS='\t' -v rate="$1" '
        function chance() {  # 0 to 1
            state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
            return state / 2147483647
        }
        BEGIN { state = 1 }
        NR == FNR { second[++rows] = $2; next }
        100 * chance() < rate { $2 = second[(FNR + int(chance() * (rows - 1))) % rows + 1] }
        { print }' "$output/sample.tsv" "$output/sample.tsv"
}

paraphrases
[ -s "$output/sample.tsv" ] ||
    sample "${PAIRS:-1000000000}" "$output/train.tsv" > "$output/sample.tsv"
for noise in 0 30; do
    [ -s "$output/train-$noise.tsv" ] || noisy "$noise" > "$output/train-$noise.tsv"
done

msrpc=$data/test/paraphrase/msrpc.tsv
list=$(chosen "$@")
printf '%s\n' "$list" | while read -r name architecture noise segmentation; do
    train "$name" --languages en,en --pairs "$output/train-$noise.tsv" \
        --development "$output/dev.tsv" --settings "$recipe/paper4.json" \
        --architecture "$architecture" --set segmentation.kind="$segmentation" \
        --set training.passes="${PASSES:-3}"
    measure "$name.sts" bitext-evaluate sts --model "$output/$name" \
        "$sts/sick2014.tsv" "$sts"/sts2014.*.tsv
    for features in concatenation products; do
        ending=$([ "$features" = products ] && echo products || echo msrpc)
        measure "$name.$ending" bitext-evaluate paraphrase --model "$output/$name" \
            --features "$features" --development "$data/train/paraphrase/msrpc.tsv" "$msrpc"
    done
done

printf '| model | random pairs, %% | segmentation | MSRPC, accuracy/F1: cosine '
printf '| perceptron | products | SICK 2014, r | STS 2014, r/ρ | seconds |\n'
printf '|---|---:|---|---:|---:|---:|---:|---:|---:|\n'
models | while read -r name _ noise segmentation; do
    [ -s "$output/$name.products" ] || continue
    awk -F '\t' -v title="${name%%-*} | $noise | $segmentation" -v seconds="$(seconds "$name")" '
        function percent(row) {
            split(row, cell, "\t")
            return sprintf("%.1f/%.1f", 100 * cell[2], 100 * cell[5])
        }
        function shown(value) { return value ~ /[0-9]/ ? sprintf("%.2f", value / 100) : "-" }
        FNR == 1 { file++ }
        file == 1 { pearson[$1] = $5; spearman[$1] = $8 }
        { row[file, $1] = $0 }
        END {
            print "| " title " | " percent(row[2, "cosine"]) " | " percent(row[2, "mlp"]) " | " \
                percent(row[3, "mlp"]) " | " shown(pearson["sick2014"]) " | " \
                shown(pearson["mean sts2014"]) "/" shown(spearman["mean sts2014"]) " | " \
                seconds " |"
        }' "$output/$name.sts" "$output/$name.msrpc" "$output/$name.products"
done
cat "$output"/*.msrpc | awk -F '\t' '$1 == "majority" {
    printf "| majority | | | %.1f/%.1f | | | | | |\n", 100 * $2, 100 * $5
    exit }'
printf '| theirs: WA | | morfessor | | 67.1/79.1 | | 0.710 | 0.54/0.53 | |\n'
printf '| theirs: GRAN | | morfessor | | 69.5/80.6 | | 0.717 | 0.40/0.44 | |\n'
