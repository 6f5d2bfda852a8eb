#!/bin/sh
# Wieting & Gimpel 2018 in small: encoders from English paraphrases, by architecture and mega-batch.
#
#     examples/papers/paper3.sh DATA OUTPUT [MODEL...]
#
# Trains the models named, or all in the table below, on the pairs of make-paraphrases.sh by the
# settings in paper3.json, measures them on STS Benchmark, STS 2012 to 2015 and SICK 2014, and
# prints a Markdown table of all in OUTPUT. Finished models are kept, and an interrupted training
# goes on. Some hours on one core. OUTPUT gets, for each model:
#   NAME/      the model
#   NAME.log   the messages of its training
#   NAME.sts   the table of bitext-evaluate sts
set -eu

data=$1
output=$2
shift 2
recipe=$(cd "$(dirname "$0")" && pwd)
sts=$data/test/sts
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$recipe/common.sh"

models() { # name, architecture, M, passes, scrambling; theirs: STS Benchmark, STS 2017
    cat <<END
word-1 word 1 5 0 - 82.3
word-20 word 20 5 0 - 84.0
word-40 word 40 5 0 79.2 84.1
trigram-1 trigram 1 5 0 - -
trigram-20 trigram 20 5 0 - -
trigram-40 trigram 40 5 0 79.1 -
wordtrigram-1 word,trigram 1 5 0 - -
wordtrigram-20 word,trigram 20 5 0 - -
wordtrigram-40 word,trigram 40 5 0 79.9 -
lstm-1 lstm 1 3 0.3 - 81.5
lstm-20 lstm 20 3 0.3 - 84.6
lstm-40 lstm 40 3 0.3 78.4 85.0
gran-20 gran 20 3 0.3 - -
END
}

paraphrases
list=$(chosen "$@")
printf '%s\n' "$list" | while read -r name architecture mega passes scramble _; do
    every=$((500 / mega * mega)) # validations are at whole mega-batches
    train "$name" --languages en,en --pairs "$output/train.tsv" --development "$output/dev.tsv" \
        --settings "$recipe/paper3.json" --architecture "$architecture" \
        --set training.mega_batch="$mega" --set training.validate_every="$every" \
        --set training.passes="$passes" --set training.scramble="$scramble"
    measure "$name.sts" bitext-evaluate sts --model "$output/$name" \
        "$sts/stsb.en.tsv" "$sts"/sts201[2-5].*.tsv "$sts/sick2014.tsv"
done

printf '| model | M | STS Benchmark | 2012 | 2013 | 2014 | 2015 | all of 2012–2015 | SICK 2014 '
printf '| seconds | theirs: STS Benchmark | theirs: STS 2017 |\n'
printf '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n'
models | while read -r name architecture mega _ _ benchmark other; do
    [ -s "$output/$name.sts" ] || continue
    awk -F '\t' -v title="$architecture | $mega" -v seconds="$(seconds "$name")" \
        -v theirs="$benchmark | $other" '
        function shown(set) { return value[set] ~ /[0-9]/ ? sprintf("%.1f", value[set]) : "-" }
        { value[$1] = $5 }
        $1 ~ /^sts201[2-5]\./ { sum += $5; sets++; if ($5 !~ /[0-9]/) constant = 1 }
        END {
            if (sets && !constant) value["all"] = sum / sets
            print "| " title " | " shown("stsb.en") " | " shown("mean sts2012") " | " \
                shown("mean sts2013") " | " shown("mean sts2014") " | " shown("mean sts2015") \
                " | " shown("all") " | " shown("sick2014") " | " seconds " | " theirs " |"
        }' "$output/$name.sts"
done
printf '| theirs: WORD,TRIGRAM | | 79.9 | 67.8 | 62.7 | 77.4 | 80.3 | | | | | |\n'
