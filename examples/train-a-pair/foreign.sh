#!/bin/sh
# Write sentences in neither of two languages: up to 6,000 of each file in open.txt and language.
#
#     examples/train-a-pair/foreign.sh SOURCE-TARGET DATA > foreign.txt
set -eu

source=${1%-*} target=${1#*-} data=$2
# What was found through English is in other files, too.
grep -v -e -pivot "$(dirname "$0")/open.txt" | while read -r file; do
    [ -r "$data/$file" ] || { echo "$0: $data/$file is missing" >&2; exit 1; }
    folder=$(basename "$(dirname "$file")")
    for side in 1:"${folder%-*}" 2:"${folder#*-}"; do
        case ${side#*:} in "$source" | "$target") continue ;; esac
        gzip -dc "$data/$file" | cut -f "${side%:*}" | awk 'NR % 10 == 1 && ++n <= 6000'
    done
done
