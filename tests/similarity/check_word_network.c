/* Scores random pairs by random networks, each array in memory of its own size: for sanitizers. */
#include <stdio.h>

#include "word_network.c"

static uint64_t state = 7;

static int64_t below(int64_t count)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)count);
}

static float *numbers(int64_t count)
{
    float *made = malloc((size_t)count * sizeof *made);
    for (int64_t k = 0; k < count; k++)
        made[k] = (float)below(2000) / 10000 - 0.1f;
    return made;
}

static int64_t *integers(int64_t count, int64_t bound)
{
    int64_t *made = malloc((size_t)count * sizeof *made);
    for (int64_t k = 0; k < count; k++)
        made[k] = below(bound);
    return made;
}

static Side side_of(const Network *n, int64_t words, int64_t sentences, int64_t pairs)
{
    const int64_t size = words * (3 * n->width + n->meaning + n->kinds + n->features);
    int64_t total = 0, *starts = integers(sentences, 1), *lengths = integers(sentences, 40);
    uint16_t *table = malloc((size_t)size * sizeof *table);
    for (int64_t k = 0; k < size; k++)
        table[k] = (uint16_t)(below(20) ? below(2) * 0x8000 + below(0x3c00) : below(0x10000));
    for (int64_t k = 0; k < sentences; k++) {
        starts[k] = total;
        total += ++lengths[k];
    }
    int32_t *flat = malloc((size_t)total * sizeof *flat);
    for (int64_t k = 0; k < total; k++)
        flat[k] = (int32_t)below(words);
    uint8_t *levels = malloc((size_t)n->bigrams / 4 + 1);
    memset(levels, 0x6c, (size_t)n->bigrams / 4 + 1);
    return (Side){table, integers(words, 30), integers(words, 3), integers(words, 1000), levels, flat,
                  numbers(total), starts, lengths, numbers(sentences * n->dim),
                  integers(pairs, sentences)};
}

static void score(Network n, int64_t lanes)
{
    const int64_t width = WHOLE(n.width), kinds = WHOLE(n.kinds), hidden = WHOLE(n.hidden);
    const int64_t every = WHOLE(n.kinds + FLAG_COUNT + 1), outputs = WHOLE(n.logits);
    const int64_t columns = WHOLE(3 * n.width + n.meaning + n.kinds), words = 1 + below(100);
    const float *made[] = {
        n.sides = numbers(2 * width),
        n.places = numbers((4 + n.spacing + (n.bigrams ? 4 : 0)) * (width + kinds)),
        n.wider = numbers(3 * width * width), n.wider_bias = numbers(width),
        n.query = numbers(width * (width + kinds)), n.query_bias = numbers(width + kinds),
        n.compare = numbers((4 * width + every + SCALARS) * width), n.compare_bias = numbers(width),
        n.compared = numbers(width * width), n.compared_bias = numbers(width),
        n.sentence = numbers(2 * n.dim * SENTENCE), n.sentence_bias = numbers(SENTENCE),
        n.hidden_weight = numbers(inputs_plain(&n) * hidden), n.hidden_bias = numbers(hidden),
        n.out = numbers(hidden * outputs), n.out_bias = numbers(outputs),
        n.table = numbers((n.dim + n.features) * columns), n.table_bias = numbers(columns)};
    const int64_t pairs = 70;
    Side sides[2] = {side_of(&n, 50, 9, pairs), side_of(&n, 20, 30, pairs)};
    float *logits = malloc((size_t)(pairs * n.logits) * sizeof *logits);
    if (word_logits(&n, sides, 0, 3, lanes, logits) || word_logits(&n, sides, 3, pairs, lanes, logits))
        exit(1);
    float *read = numbers(words * (n.dim + n.features)), *table = numbers(words * columns);
    word_table(&n, read, words, lanes, table);
    free(read);
    free(table);
    for (size_t k = 0; k < sizeof made / sizeof *made; k++)
        free((void *)made[k]);
    for (int s = 0; s < 2; s++) {
        const Side *side = &sides[s];
        const void *each[] = {side->table, side->letters, side->figures, side->hashes, side->levels,
                              side->words, side->spaced, side->starts, side->lengths, side->vectors,
                              side->rows};
        for (size_t k = 0; k < sizeof each / sizeof *each; k++)
            free((void *)each[k]);
    }
    free(logits);
}

int main(void)
{
    for (int64_t lanes = 4; lanes <= word_network_lanes(); lanes *= 2)
        for (int round = 0; round < 6; round++)
            score((Network){.dim = 1 + below(40), .width = 1 + below(40), .meaning = 1 + below(40),
                            .kinds = 1 + below(20), .features = 9 + below(30), .hidden = 1 + below(40),
                            .logits = 1 + below(2), .spacing = below(2), .bigrams = below(2) * 99,
                            .weights = {1, 1, 10, 4}}, lanes);
    puts("done");
    return 0;
}
