# shellcheck shell=sh
# Parts common to the scripts beside this one: they read it, with data, output and recipe set.
#
# A model is OUTPUT/NAME, the messages of its training NAME.log. Finished parts in OUTPUT are kept.
# shellcheck disable=SC2154  # data, output and recipe are the script's

export LC_ALL=C # bytes are bytes in awk
threads=${THREADS:-1}
mkdir -p "$output"

chosen() { # [NAME...]: the lines of models() that begin with these names, or all
    [ $# -gt 0 ] || models
    for sought in "$@"; do
        models | grep "^$sought " || { echo "$0: no model is called $sought" >&2; return 1; }
    done
}

sample() { # N FILE: exactly N rows of FILE (all, if it has fewer), drawn in one pass
    awk -v wanted="$1" -v left="$(wc -l < "$2")" '
        BEGIN { state = 1 }
        { state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
          if (state / 2147483647 * left-- < wanted) { wanted--; print } }' "$2"
}

paraphrases() { # train.tsv and dev.tsv: pairs of make-paraphrases.sh, one in 60 to validate on
    [ -s "$output/dev.tsv" ] && return
    "$recipe/make-paraphrases.sh" "$data" > "$output/all.partial"
    awk 'NR % 60 != 7' "$output/all.partial" > "$output/train.tsv"
    awk 'NR % 60 == 7' "$output/all.partial" > "$output/dev.tsv.partial"
    mv "$output/dev.tsv.partial" "$output/dev.tsv"
    rm "$output/all.partial"
}

train() { # NAME [OPTION...]: train OUTPUT/NAME, or go on with it, unless it is done
    name=$1
    shift
    tail -n 1 "$output/$name.log" 2> /dev/null | grep -q ' updates, ' && return
    [ -e "$output/$name.training/state.json" ] && set -- "$@" --resume
    bitext-train-encoder --threads "$threads" -o "$output/$name" "$@" \
        < /dev/null 2>> "$output/$name.log" || { tail -n 1 "$output/$name.log" >&2; return 1; }
    rm -r "$output/$name.training"
}

measure() { # FILE COMMAND [ARGUMENT...]: the table that a command writes, unless it is there
    table=$output/$1
    shift
    [ -s "$table" ] && return
    "$@" -q --threads "$threads" < /dev/null > "$table.partial"
    mv "$table.partial" "$table"
}

seconds() { # NAME: the time of its training, with > if it was interrupted
    awk '/: [0-9]+ (en-fr )?pairs/ { runs++ }
        / updates, / { last = $(NF - 1) }
        END { printf "%s%.0f\n", (runs > 1 ? "> " : ""), last }' "$output/$1.log"
}
