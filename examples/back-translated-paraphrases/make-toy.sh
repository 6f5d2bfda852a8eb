#!/bin/sh
# A toy bitext, German and English, to stdout.
#
#     examples/back-translated-paraphrases/make-toy.sh ROWS
#
# English has several words for a thing, of which the first is the usual one. A reference has any of
# them; a translator learns to write the first, so that its translations differ from the references
# as real ones do: they are plainer.
set -eu

awk -v rows="$1" '
    function draw(n) {  # 1 to n
        state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
        return 1 + int(state / 2147483647 * n)
    }
    function german(list, place,    words) { split(list, words, " "); return words[place] }
    function english(list, place,    words, ways, n) {  # half the time the usual way
        split(list, words, " ")
        n = split(words[place], ways, "/")
        return ways[draw(2) == 1 ? 1 : draw(n)]
    }
    BEGIN {
        state = 1
        nouns = "Hund Mann Junge Lehrer Vogel Arzt"
        their_nouns = "dog/hound man/fellow boy/lad teacher/tutor bird/fowl doctor/physician"
        verbs = "sieht hört sucht mag"
        their_verbs = "sees/watches/notices hears/overhears seeks/pursues likes/adores/loves"
        adverbs = "oft kaum jetzt heute"
        their_adverbs = "often/frequently hardly/rarely now/presently today"
        while (row++ < rows) {
            subject = draw(6); verb = draw(4); adverb = draw(4); object = draw(6)
            print "Der " german(nouns, subject) " " german(verbs, verb) " " \
                german(adverbs, adverb) " den " german(nouns, object) " .\tThe " \
                english(their_nouns, subject) " " english(their_verbs, verb) " the " \
                english(their_nouns, object) " " english(their_adverbs, adverb) " ."
        }
    }'
