/* The word-level pair network, compiled: pairs of sentences, as places in tables of words -> logits.
 *
 * The layers, their order and the meaning of all inputs stand in word_network.py, which computes the
 * same in torch; compiled_words.py packs the weights and calls word_logits. There is no Python here.
 *
 * Sentences are not padded. Every number of a pair is summed in an order that the pair alone
 * decides: products of matrices go over the inputs one by one, side by side for several rows and
 * outputs; the rows of several pairs share the weights that are read, and nothing else.
 *
 * Widths are rounded up to multiples of 16 (LINE), with weights of 0, so that vectors are whole.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINE 16
#define WHOLE(n) (((n) + LINE - 1) / LINE * LINE)
#define COSINES 13
#define PLACES 9
#define COVERAGE (4 * COSINES + 2 * PLACES + 4)
#define SCALARS 9
#define SENTENCE 96
#define GROUP 64 /* pairs whose sentences, and hidden layers, are computed together */
#define TILE 128 /* inputs of a layer that many rows read, before the next ones are */

/* Columns of a word's features: see text/features.py. */
#define FLAGS 1
#define FLAG_COUNT 7
#define RARITY 7

/* The weights: inputs x outputs, both padded; layers that read several parts have each part padded. */
typedef struct {
    int64_t dim, width, meaning, kinds, features, hidden, logits, spacing, bigrams;
    float weights[4];
    const float *sides;     /* 2 x width */
    const float *places;    /* (2 + spacing + 2 + 4 if there are bigrams) x (width + kinds) */
    const float *wider;     /* 3 width x width */
    const float *wider_bias;
    const float *query;     /* width x (width + kinds): the query, and the kinds in context */
    const float *query_bias;
    const float *compare;   /* (4 width + kinds, flags and 1 + 9) x width */
    const float *compare_bias;
    const float *compared;  /* width x width */
    const float *compared_bias;
    const float *sentence;  /* 2 dim x 96 */
    const float *sentence_bias;
    const float *hidden_weight; /* in the order of seen() */
    const float *hidden_bias;
    const float *out;       /* hidden x logits */
    const float *out_bias;
    const float *table;     /* (dim + features) x (contexts, meaning and kinds of a word) */
    const float *table_bias;
} Network;

/* One side of the pairs. */
typedef struct {
    const uint16_t *table;  /* words x columns, float16 */
    const int64_t *letters; /* of each word of the table */
    const int64_t *figures;
    const int64_t *hashes;
    const uint8_t *levels;  /* of bigrams, four a byte */
    const int32_t *words;   /* of all sentences */
    const float *spaced;    /* of all words */
    const int64_t *starts;  /* of each sentence */
    const int64_t *lengths;
    const float *vectors;   /* sentences x dim */
    const int64_t *rows;    /* the sentence of each pair */
} Side;

/* Numbers of a part of the words of a pair. */
typedef struct {
    int64_t length, padded;
    int64_t first; /* row of the first word in the arrays of both sides */
    float *letters_alike, *figures_alike, *sure, *expected, *step, *lag, *nearest[4]; /* a word each */
    float *attention; /* other's words x own */
} Own;

/* Room for the numbers of a pair: rows of the source, an empty one, rows of the target. */
typedef struct {
    float *words, *first, *states, *queries, *every, *fluency, *compare, *hidden, *compared;
    float *transposed, *one_way[2], *other_way[2], *tops, *sums, *places;
    int64_t *spelt[2][2]; /* letters and figures of either side */
    Own own[2];
} Room;

/* Room for GROUP pairs: what the hidden layer and the layer of the sentence vectors read, and so on. */
typedef struct {
    float *seen, *sentences, *hidden, *out;
} Group;

typedef struct {
    float **at;
    int64_t count;
} Part;

/* Claim memory for all parts; NULL without. */
static float *claim_parts(Part *parts, int64_t count)
{
    int64_t total = LINE;
    for (int64_t k = 0; k < count; k++)
        total += WHOLE(parts[k].count);
    float *memory = aligned_alloc(4 * LINE, (size_t)total * sizeof *memory), *at = memory;
    for (int64_t k = 0; memory && k < count; k++) {
        *parts[k].at = at;
        at += WHOLE(parts[k].count);
    }
    return memory;
}

/* Claim room for any of the pairs first to last; NULL without memory. */
static float *claim(const Network *network, const Side *sides, int64_t first, int64_t last, Room *room)
{
    int64_t longest[2] = {1, 1};
    for (int s = 0; s < 2; s++)
        for (int64_t pair = first; pair < last; pair++) {
            const int64_t length = sides[s].lengths[sides[s].rows[pair]];
            longest[s] = length > longest[s] ? length : longest[s];
        }
    const int64_t width = WHOLE(network->width), every = WHOLE(network->kinds + FLAG_COUNT + 1);
    const int64_t kinds = WHOLE(network->kinds), rows = longest[0] + longest[1] + 1;
    const int64_t columns = 3 * network->width + network->meaning + network->kinds + network->features;
    const int64_t most = WHOLE(longest[0] > longest[1] ? longest[0] : longest[1]);
    const int64_t narrow = network->meaning > width ? network->meaning : width;
    const int64_t one_way = longest[0] * WHOLE(longest[1]), other_way = longest[1] * WHOLE(longest[0]);
    Own *source = &room->own[0], *target = &room->own[1];
    float *spelt[4], *begin;
    Part parts[] = {
        {&room->words, rows * WHOLE(columns)}, {&begin, (rows + 2) * width},
        {&room->states, rows * width}, {&room->queries, rows * (width + kinds)},
        {&room->every, rows * every}, {&room->fluency, 4 * rows},
        {&room->compare, rows * (4 * width + every + LINE)}, {&room->hidden, rows * width},
        {&room->compared, rows * width}, {&room->transposed, narrow * most},
        {&room->one_way[0], one_way}, {&room->one_way[1], one_way},
        {&room->other_way[0], other_way}, {&room->other_way[1], other_way},
        {&room->tops, most}, {&room->sums, most > every ? most : every},
        {&room->places, width + kinds}, {&spelt[0], 2 * most}, {&spelt[1], 2 * most},
        {&spelt[2], 2 * most}, {&spelt[3], 2 * most},
        {&source->attention, other_way}, {&target->attention, one_way},
        {&source->letters_alike, most}, {&source->figures_alike, most}, {&source->sure, most},
        {&source->expected, most}, {&source->step, most}, {&source->lag, most},
        {&source->nearest[0], most}, {&source->nearest[1], most}, {&source->nearest[2], most},
        {&source->nearest[3], most},
        {&target->letters_alike, most}, {&target->figures_alike, most}, {&target->sure, most},
        {&target->expected, most}, {&target->step, most}, {&target->lag, most},
        {&target->nearest[0], most}, {&target->nearest[1], most}, {&target->nearest[2], most},
        {&target->nearest[3], most}};
    float *memory = claim_parts(parts, sizeof parts / sizeof *parts);
    if (!memory)
        return NULL;
    for (int k = 0; k < 4; k++)
        room->spelt[k / 2][k % 2] = (int64_t *)spelt[k];
    room->first = begin + width; /* a row of zeros stands before it */
    memset(begin, 0, (size_t)width * sizeof *begin);
    return memory;
}

/* Claim room for GROUP pairs whose hidden layers have so many inputs; NULL without memory. */
static float *claim_group(const Network *network, int64_t inputs, Group *group)
{
    const int64_t hidden = WHOLE(network->hidden);
    Part parts[] = {{&group->seen, GROUP * inputs}, {&group->sentences, GROUP * 2 * network->dim},
                    {&group->hidden, GROUP * (hidden > SENTENCE ? hidden : SENTENCE)},
                    {&group->out, GROUP * WHOLE(network->logits)}};
    return claim_parts(parts, sizeof parts / sizeof *parts);
}

#define NAME_(name, kind) name##_##kind
#define NAME(name, kind) NAME_(name, kind)

#define KIND plain
#define LANES 4
#define ROWS 4
#define COLUMNS 8
#include "word_network_kernels.h"
#undef KIND
#undef LANES
#undef ROWS
#undef COLUMNS

#if defined(__x86_64__) && defined(__GNUC__)
#define SEVERAL
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define KIND avx2
#define LANES 8
#define ROWS 4
#define COLUMNS 16
#include "word_network_kernels.h"
#undef KIND
#undef LANES
#undef ROWS
#undef COLUMNS
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#endif
#define KIND avx512
#define LANES 16
#define ROWS 8
#define COLUMNS 32
#include "word_network_kernels.h"
#undef KIND
#undef LANES
#undef ROWS
#undef COLUMNS
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/* Of the structures above: the same number stands in compiled_words.py. */
int64_t word_network_layout(void)
{
    return 2;
}

/* The widest vectors that this processor has: 4, 8 or 16 numbers. */
int64_t word_network_lanes(void)
{
#ifdef SEVERAL
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 8;
#endif
    return 4;
}

/* Write the logits of pairs first to last, logits[first * network->logits] the first of them.
 * Returns 0, or 1 where there is no memory. lanes: no more than word_network_lanes().
 */
int64_t word_logits(const Network *network, const Side *sides, int64_t first, int64_t last,
                    int64_t lanes, float *logits)
{
#ifdef SEVERAL
    if (lanes == 16)
        return logits_avx512(network, sides, first, last, logits);
    if (lanes == 8)
        return logits_avx2(network, sides, first, last, logits);
#endif
    (void)lanes;
    return logits_plain(network, sides, first, last, logits);
}

/* Write the numbers of words that depend on the word alone, but for its features: contexts, meaning
 * and kinds, padded. words: scaled vectors and features, count x (dim + features).
 */
void word_table(const Network *network, const float *words, int64_t count, int64_t lanes, float *out)
{
#ifdef SEVERAL
    if (lanes == 16) {
        table_avx512(network, words, count, out);
        return;
    }
    if (lanes == 8) {
        table_avx2(network, words, count, out);
        return;
    }
#endif
    (void)lanes;
    table_plain(network, words, count, out);
}
