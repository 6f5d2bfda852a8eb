#!/bin/sh
# Wieting & Gimpel 2018 in small: encoders from English paraphrases, by architecture and mega-batch.
#
#     examples/papers/paper3.sh DATA OUTPUT [MODEL...]
#
# Trains the models named, or all in the table below, on the pairs of make-paraphrases.sh by the
# settings in paper3.json, measures them on STS Benchmark, STS 2012 to 2015 and SICK 2014, and
# prints a Markdown table of all in OUTPUT. A model is called after its encoder (900 is its width)
# and M: word+lstm-20. Negatives are second sentences of other pairs, or first ones if -own follows
# (word+lstm-20-own). Finished models are kept, and an interrupted training goes on. Some hours on
# one core, days for all. OUTPUT gets, for each model:
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

models() { # name, architecture, width, M, negatives; theirs: STS Benchmark, STS 2017
    while read -r stem architecture width mega theirs; do
        echo "$stem-$mega $architecture $width $mega other $theirs"
        echo "$stem-$mega-own $architecture $width $mega same $theirs"
    done <<END
word word 300 1 - 82.3
word word 300 20 - 84.0
word word 300 40 79.2 84.1
trigram trigram 300 1 - -
trigram trigram 300 20 - -
trigram trigram 300 40 79.1 -
wordtrigram word,trigram 300 1 - -
wordtrigram word,trigram 300 20 - -
wordtrigram word,trigram 300 40 79.9 -
lstm lstm 300 1 - 81.5
lstm lstm 300 20 - 84.6
lstm lstm 300 40 78.4 85.0
lstm900 lstm 900 20 - -
blstm blstm 300 20 - -
blstm900 blstm 900 20 - -
gran gran 300 20 - -
word+trigram word+trigram 300 20 - -
word+lstm word+lstm 300 20 - -
word+trigram+lstm word+trigram+lstm 300 20 - -
wordlstm word,lstm 300 20 - -
wordtrigramlstm word,trigram,lstm 300 20 - -
END
}

paraphrases
list=$(chosen "$@")
printf '%s\n' "$list" | while read -r name architecture width mega negatives _; do
    case $architecture in
        *lstm* | gran) passes=3 scramble=0.3 ;;
        *) passes=5 scramble=0 ;;
    esac
    every=$((500 / mega * mega)) # validations are at whole mega-batches
    train "$name" --languages en,en --pairs "$output/train.tsv" --development "$output/dev.tsv" \
        --settings "$recipe/paper3.json" --architecture "$architecture" \
        --set shape.embedding="$width" --set training.negatives="$negatives" \
        --set training.mega_batch="$mega" --set training.validate_every="$every" \
        --set training.passes="$passes" --set training.scramble="$scramble"
    measure "$name.sts" bitext-evaluate sts --model "$output/$name" \
        "$sts/stsb.en.tsv" "$sts"/sts201[2-5].*.tsv "$sts/sick2014.tsv"
done

printf '| model | width | M | negatives | STS Benchmark | 2012 | 2013 | 2014 | 2015 '
printf '| all of 2012–2015 | SICK 2014 | seconds | theirs: STS Benchmark | theirs: STS 2017 |\n'
printf '|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n'
models | while read -r name architecture width mega negatives benchmark other; do
    side=$([ "$negatives" = same ] && echo own || echo other)
    [ -s "$output/$name.sts" ] || continue
    awk -F '\t' -v title="$architecture | $width | $mega | $side" -v seconds="$(seconds "$name")" \
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
printf '| theirs: WORD,TRIGRAM | 300 | | own | 79.9 | 67.8 | 62.7 | 77.4 | 80.3 | | | | | |\n'
