#!/bin/sh
# Sjöblom et al. 2018 in small: word averaging and GRAN on clean and noisy pairs, by segmentation.
#
#     examples/papers/paper4.sh DATA OUTPUT [MODEL...]
#
# Trains the models named, or all, by the contrastive loss (paper4.json), measures them on MSRPC (a
# perceptron trained on its training part), SICK 2014 (the cosine, and a regression trained on its
# training part) and STS 2014, and prints a Markdown table of all in OUTPUT. A model is called after
# its encoder (wa, gran), the percentage of pairs that are random ones instead (0, 30), and its
# segmentation (none, morfessor): gran-30-none. Three more have more pairs and more noise each time:
# gran-20-morfessor-25 has 25 % of the pairs, a fifth of them random ones.
# Finished models are kept, and an interrupted training goes on. PAIRS in the environment is how
# many pairs are drawn to train on (all), PASSES how often they are read (3); a folder holds models
# of one choice only. An hour on one core. OUTPUT gets, for each model:
#   NAME/         the model
#   NAME.log      the messages of its training
#   NAME.sts      the table of bitext-evaluate sts, NAME.sick that of its regression
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

models() { # name, architecture, percentage of noise, segmentation, percentage of the pairs
    for model in wa gran; do
        architecture=$([ "$model" = wa ] && echo word || echo gran-gru)
        for noise in 0 30; do
            for segmentation in none morfessor; do
                echo "$model-$noise-$segmentation $architecture $noise $segmentation 100"
            done
        done
        for more in '20 morfessor 25' '30 morfessor 50' '40 morfessor 100'; do
            echo "$model-$(echo "$more" | tr ' ' -) $architecture $more"
        done
    done
}

noisy() { # PERCENT FILE: its pairs, with this share of second sides from random other rows
    awk -F '\t' -v OFS='\t' -v rate="$1" '
        function chance() {  # 0 to 1
            state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
            return state / 2147483647
        }
        BEGIN { state = 1 }
        NR == FNR { second[++rows] = $2; next }
        100 * chance() < rate { $2 = second[(FNR + int(chance() * (rows - 1))) % rows + 1] }
        { print }' "$2" "$2"
}

training_pairs() { # PERCENT SHARE: train-PERCENT-SHARE.tsv, some of sample.tsv
    pairs=$output/train-$1-$2.tsv
    [ -s "$pairs" ] && return
    sample "$(($(wc -l < "$output/sample.tsv") * $2 / 100))" "$output/sample.tsv" > "$pairs.clean"
    noisy "$1" "$pairs.clean" > "$pairs.partial"
    rm "$pairs.clean"
    mv "$pairs.partial" "$pairs"
}

paraphrases
[ -s "$output/sample.tsv" ] ||
    sample "${PAIRS:-1000000000}" "$output/train.tsv" > "$output/sample.tsv"

msrpc=$data/test/paraphrase/msrpc.tsv
list=$(chosen "$@")
printf '%s\n' "$list" | while read -r name architecture noise segmentation share; do
    training_pairs "$noise" "$share"
    train "$name" --languages en,en --pairs "$output/train-$noise-$share.tsv" \
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
    measure "$name.sick" bitext-evaluate sts --model "$output/$name" --bootstrap 1 \
        --regression "$data/train/sts/sick2014.tsv.gz" \
        --development "$data/dev/sts/sick2014.tsv" "$sts/sick2014.tsv"
done

printf '| model | pairs, %% | random pairs, %% | segmentation | MSRPC, accuracy/F1: cosine '
printf '| perceptron | products | SICK 2014, r: cosine | regression | STS 2014, r/ρ | seconds |\n'
printf '|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|\n'
models | while read -r name _ noise segmentation share; do
    [ -s "$output/$name.sick" ] || continue
    awk -F '\t' -v title="${name%%-*} | $share | $noise | $segmentation" -v seconds="$(seconds "$name")" '
        function percent(row) {
            split(row, cell, "\t")
            return sprintf("%.1f/%.1f", 100 * cell[2], 100 * cell[5])
        }
        function shown(value) { return value ~ /[0-9]/ ? sprintf("%.2f", value / 100) : "-" }
        FNR == 1 { file++ }
        file == 4 { regression[$1] = $5 }
        file == 1 { pearson[$1] = $5; spearman[$1] = $8 }
        { row[file, $1] = $0 }
        END {
            print "| " title " | " percent(row[2, "cosine"]) " | " percent(row[2, "mlp"]) " | " \
                percent(row[3, "mlp"]) " | " shown(pearson["sick2014"]) " | " \
                shown(regression["sick2014"]) " | " shown(pearson["mean sts2014"]) "/" \
                shown(spearman["mean sts2014"]) " | " seconds " |"
        }' "$output/$name.sts" "$output/$name.msrpc" "$output/$name.products" "$output/$name.sick"
done
cat "$output"/*.msrpc | awk -F '\t' '$1 == "majority" {
    printf "| majority | | | | %.1f/%.1f | | | | | | |\n", 100 * $2, 100 * $5
    exit }'
printf '| theirs: WA | | | morfessor | | 67.1/79.1 | | | 0.710 | 0.54/0.53 | |\n'
printf '| theirs: GRAN | | | morfessor | | 69.5/80.6 | | | 0.717 | 0.40/0.44 | |\n'
