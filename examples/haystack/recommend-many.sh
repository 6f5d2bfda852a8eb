#!/bin/sh
# Give a model of many languages, in its folder, cuts for mining and for any two languages.
#
#     examples/haystack/recommend-many.sh MODEL FOLDER
#
# FOLDER is what make_many.py wrote. English with each language gets cuts of its own for mining; any
# other two the cuts of all other pairs together, for mining and for filtering.
set -eu

model=$1 folder=$2
languages() { basename "$1" .tsv | tr - ,; }
for measure in joint csls; do
    : > "$folder/any.mined" && : > "$folder/any.tsv"
    for each in "$folder"/??-??; do
        mined=$each/$measure.tsv
        bitext-align -q --model "$model" --languages "$(languages "$each")" --min-score none \
            --similarity "$measure" "$each/source.txt" "$each/target.txt" > "$mined"
        case $each in
        */en-*)
            bitext-evaluate mining -q --json "$each/talks.tsv" "$mined" |
                bitext-models recommend -q --similarity "$measure" \
                    "$model:$(languages "$each")" - -o "$model" > "$folder/cuts" ;;
        *) cat "$mined" >> "$folder/any.mined" && cat "$each/talks.tsv" >> "$folder/any.tsv" ;;
        esac
    done
    bitext-evaluate mining -q --json "$folder/any.tsv" "$folder/any.mined" |
        bitext-models recommend -q --similarity "$measure" "$model" - -o "$model" > "$folder/cuts"
done

for file in "$folder"/pairs/*.tsv; do
    bitext-noise -q --rate all=0.5 --languages "$(languages "$file")" < "$file" |
        bitext-score -q --model "$model" --languages "$(languages "$file")" --similarity mlp,csls
done > "$folder/pairs.noisy"
for measure in 4:mlp 5:csls; do
    bitext-evaluate filtering -q --suggest-threshold --json --noise-share 0.3 --labels 3 \
        --column "${measure%:*}" "$folder/pairs.noisy" |
        bitext-models recommend -q --similarity "${measure#*:}" "$model" - -o "$model" \
            > "$folder/cuts"
done
cat "$folder/cuts"
