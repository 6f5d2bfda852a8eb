/* The functions of word_network.c for one width of vectors.
 *
 * Included once for each KIND: LANES numbers a vector; products of matrices keep ROWS x COLUMNS
 * sums in registers.
 */
typedef float NAME(Vector, KIND) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t NAME(Integers, KIND) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define VECTOR NAME(Vector, KIND)
#define INTEGERS NAME(Integers, KIND)
#define INLINE static inline __attribute__((always_inline))
#define AT(pointer) (*(VECTOR *)(pointer))
#define GIVEN(pointer) (*(const VECTOR *)(pointer))
#define EACH(k, n) for (int64_t k = 0; k < (n); k++)
#define VECTORS(k, n) for (int64_t k = 0; k < (n); k += LANES)

/* ROWS rows of x times inputs x width weights, from *start* or, without one, added to y. */
INLINE void NAME(tile, KIND)(const float *const *x, int64_t step, const float *weights,
                             int64_t inputs, int64_t outputs, const float *start,
                             float *const *y, const int64_t width)
{
    VECTOR sums[ROWS][COLUMNS / LANES];
#pragma GCC unroll 16
    EACH(r, ROWS)
#pragma GCC unroll 16
        EACH(v, width / LANES)
            sums[r][v] = GIVEN((start ? start : y[r]) + v * LANES);
    EACH(k, inputs) {
        VECTOR row[COLUMNS / LANES];
#pragma GCC unroll 16
        EACH(v, width / LANES)
            row[v] = GIVEN(weights + k * outputs + v * LANES);
#pragma GCC unroll 16
        EACH(r, ROWS) {
            const float factor = x[r][k * step];
#pragma GCC unroll 16
            EACH(v, width / LANES)
                sums[r][v] += factor * row[v];
        }
    }
#pragma GCC unroll 16
    EACH(r, ROWS)
#pragma GCC unroll 16
        EACH(v, width / LANES)
            AT(y[r] + v * LANES) = sums[r][v];
}

/* A matrix of numbers in memory: number k of row r is at from[r * row + k * step]. */
typedef struct {
    const float *from;
    int64_t rows, row, step;
} NAME(Matrix, KIND);
#define MATRIX NAME(Matrix, KIND)

/* y = start + x weights, or y += x weights; outputs is a multiple of LINE. Any row comes out the
 * same wherever it stands, since sums go over the inputs in order.
 */
static void NAME(multiply, KIND)(MATRIX x, const float *weights, int64_t inputs, int64_t outputs,
                                 const float *start, float *y, int64_t pitch)
{
    float spare[COLUMNS];
    for (int64_t at = 0; at < x.rows; at += ROWS) {
        const float *from[ROWS];
        float *to[ROWS];
        int64_t out = 0;
        for (int64_t width = COLUMNS; width >= LINE || width == COLUMNS; width /= 2) {
            for (; out + width <= outputs; out += width) {
                EACH(r, ROWS) {
                    const int64_t row = at + r < x.rows ? at + r : x.rows - 1;
                    from[r] = x.from + row * x.row;
                    to[r] = at + r < x.rows ? y + row * pitch + out : spare;
                }
                const float *first = start ? start + out : NULL;
                if (width == COLUMNS)
                    NAME(tile, KIND)(from, x.step, weights + out, inputs, outputs, first, to, COLUMNS);
                else
                    NAME(tile, KIND)(from, x.step, weights + out, inputs, outputs, first, to,
                                     COLUMNS > LINE ? LINE : COLUMNS);
            }
        }
    }
}

/* The same, some inputs at a time for all rows: weights too many for a cache are read once. */
static void NAME(multiply_in_tiles, KIND)(MATRIX x, const float *weights, int64_t inputs,
                                          int64_t outputs, const float *start, float *y)
{
    for (int64_t k = 0; k < inputs; k += TILE) {
        const MATRIX some = {x.from + k * x.step, x.rows, x.row, x.step};
        const int64_t count = inputs - k < TILE ? inputs - k : TILE;
        NAME(multiply, KIND)(some, weights + k * outputs, count, outputs, k ? NULL : start, y,
                             outputs);
    }
}

/* e^x, to about 1e-7 of it; below -87 and above 88 as there. Coefficients of Cephes' expf. */
INLINE VECTOR NAME(exponential, KIND)(VECTOR x)
{
    const VECTOR low = (VECTOR){0} - 87.0f, high = (VECTOR){0} + 88.0f;
    const INTEGERS under = x < low, over = x > high;
    x = (VECTOR)((under & (INTEGERS)low) | (over & (INTEGERS)high) | (~under & ~over & (INTEGERS)x));
    const VECTOR whole = (x * 1.44269504f + 12582912.0f) - 12582912.0f; /* rounded */
    const VECTOR rest = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    VECTOR sum = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * rest + 8.3334519073e-3f;
    sum = sum * rest + 4.1665795894e-2f;
    sum = sum * rest + 1.6666665459e-1f;
    sum = sum * rest + 5.0000001201e-1f;
    sum = sum * rest * rest + rest + 1.0f;
    return sum * (VECTOR)((__builtin_convertvector(whole, INTEGERS) + 127) << 23);
}

/* The sum of products of two rows. */
INLINE float NAME(product, KIND)(const float *a, const float *b, int64_t count)
{
    float parts[LINE] = {0}, sum = 0;
    int64_t k = 0;
    for (; k + LINE <= count; k += LINE)
        VECTORS(v, LINE)
            AT(parts + v) += GIVEN(a + k + v) * GIVEN(b + k + v);
    for (; k < count; k++)
        parts[k % LINE] += a[k] * b[k];
    EACH(v, LINE)
        sum += parts[v];
    return sum;
}

/* 1 / length of a row. */
INLINE float NAME(scale, KIND)(const float *row, int64_t count)
{
    const float length = __builtin_sqrtf(NAME(product, KIND)(row, row, count));
    return 1 / (length > 1e-12f ? length : 1e-12f);
}

INLINE void NAME(relu, KIND)(float *row, int64_t count)
{
    EACH(k, count)
        row[k] = 0 > row[k] ? 0 : row[k]; /* not a number stays so */
}

/* Numbers in float16 -> float32. */
INLINE void NAME(widen, KIND)(const uint16_t *restrict half, float *restrict out, int64_t count)
{
    EACH(k, count) {
        const uint32_t bits = half[k], sign = (bits & 0x8000u) << 16;
        union { uint32_t bits; float number; } both = {(bits & 0x7fffu) << 13};
        both.number *= 0x1p112f;
        both.bits |= sign | ((half[k] & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0);
        out[k] = both.number;
    }
}

INLINE float NAME(familiar, KIND)(const Network *network, const Side *side, uint64_t left,
                                  uint64_t right)
{
    uint64_t mixed = (left * 0x9E3779B97F4A7C15u) ^ (right * 0xC2B2AE3D27D4EB4Fu);
    mixed = ((mixed ^ (mixed >> 29)) * 0x9E3779B97F4A7C15u) >> 1;
    const uint64_t place = mixed % (uint64_t)network->bigrams;
    return (float)((side->levels[place / 4] >> (2 * (place % 4))) & 3) / 3;
}

/* How familiar the bigrams of a sentence are, and how odd: 4 numbers a word. */
static void NAME(read_bigrams, KIND)(const Network *network, const Side *side, const int32_t *words,
                                     const float *features, int64_t pitch, int64_t count, float *out)
{
    const uint64_t edge = (uint64_t)1 << 33;
    EACH(p, count + 1) {
        const uint64_t left = p ? (uint64_t)side->hashes[words[p - 1]] : edge;
        const uint64_t right = p < count ? (uint64_t)side->hashes[words[p]] : edge;
        const float before = p ? 1 - features[(p - 1) * pitch + RARITY] : 1;
        const float after = p < count ? 1 - features[p * pitch + RARITY] : 1;
        const float known = NAME(familiar, KIND)(network, side, left, right);
        const float odd = (1 - known) * before * after;
        if (p < count)
            out[4 * p] = known, out[4 * p + 2] = odd;
        if (p)
            out[4 * p - 3] = known, out[4 * p - 1] = odd;
    }
}

/* Whether each word, and each with the one before it, occurred before: added as inputs 0 and 1. */
static void NAME(add_repeats, KIND)(const int64_t *letters, int64_t at, float *found)
{
    float word = 0, pair = 0;
    EACH(q, at) {
        const int same = letters[q] == letters[at];
        word = same ? 1 : word;
        pair = same && q && letters[q - 1] == letters[at - 1] ? 1 : pair;
    }
    found[0] = word;
    found[1] = pair;
}

/* Read one sentence: rows of the table, features of the places, first states and kinds. */
static void NAME(read_sentence, KIND)(const Network *network, const Side *side, int64_t sentence,
                                      int number, Room *room)
{
    const int64_t width = WHOLE(network->width), kinds = WHOLE(network->kinds);
    const int64_t every = WHOLE(network->kinds + FLAG_COUNT + 1), raw = network->width;
    const int64_t features = 3 * raw + network->meaning + network->kinds;
    const int64_t columns = features + network->features, pitch = WHOLE(columns);
    const Own *own = &room->own[number];
    const int32_t *words = side->words + side->starts[sentence];
    const float *spaced = side->spaced + side->starts[sentence];
    float *table = room->words + own->first * pitch, *first = room->first + own->first * width;
    float *fluency = room->fluency + 4 * own->first;
    EACH(i, own->length) {
        NAME(widen, KIND)(side->table + words[i] * columns, table + i * pitch, columns);
        room->spelt[number][0][i] = side->letters[words[i]];
        room->spelt[number][1][i] = side->figures[words[i]];
    }
    if (network->bigrams)
        NAME(read_bigrams, KIND)(network, side, words, table + features, pitch, own->length, fluency);
    EACH(i, own->length) {
        float seen[9] = {0};
        int64_t count = 2;
        NAME(add_repeats, KIND)(room->spelt[number][0], i, seen);
        if (network->spacing)
            seen[count++] = spaced[i];
        seen[count++] = i == 0;
        seen[count++] = i == own->length - 1;
        if (network->bigrams)
            EACH(k, 4)
                seen[count++] = fluency[4 * i + k];
        const float *row = table + i * pitch;
        float *state = first + i * width, *kind = room->every + (own->first + i) * every;
        memset(state + raw, 0, (size_t)(width - raw) * sizeof *state);
        EACH(k, raw)
            state[k] = row[raw + k] + (i ? row[k - pitch] : 0);
        if (i + 1 < own->length)
            EACH(k, raw)
                state[k] += row[2 * raw + k + pitch];
        memset(kind, 0, (size_t)every * sizeof *kind);
        memcpy(kind, table + i * pitch + features - network->kinds,
               (size_t)network->kinds * sizeof *kind);
        memcpy(room->places, network->sides + number * width, (size_t)width * sizeof *state);
        memset(room->places + width, 0, (size_t)kinds * sizeof *state);
        EACH(k, count)
            if (seen[k] != 0)
                VECTORS(v, width + kinds)
                    AT(room->places + v) += seen[k] * GIVEN(network->places + k * (width + kinds) + v);
        EACH(k, raw)
            state[k] += room->places[k];
        NAME(relu, KIND)(state, raw);
        EACH(k, network->kinds)
            kind[k] += room->places[width + k];
        memcpy(kind + network->kinds, row + features + FLAGS, FLAG_COUNT * sizeof *kind);
        kind[network->kinds + FLAG_COUNT] = 1;
    }
}

/* Words in their contexts, their queries and kinds, from the first states of both sentences. */
static void NAME(read_contexts, KIND)(const Network *network, Room *room, int64_t rows)
{
    const int64_t width = WHOLE(network->width), kinds = WHOLE(network->kinds);
    const int64_t every = WHOLE(network->kinds + FLAG_COUNT + 1);
    const MATRIX around = {room->first - width, rows, width, 1};
    NAME(multiply, KIND)(around, network->wider, 3 * width, width, network->wider_bias,
                         room->states, width);
    EACH(k, rows * width)
        room->states[k] = room->first[k] + (0 > room->states[k] ? 0 : room->states[k]);
    const MATRIX states = {room->states, rows, width, 1};
    NAME(multiply, KIND)(states, network->query, width, width + kinds, network->query_bias,
                         room->queries, width + kinds);
    EACH(i, rows) {
        float *query = room->queries + i * (width + kinds), *kind = room->every + i * every;
        const float factor = NAME(scale, KIND)(query, width);
        EACH(k, width)
            query[k] *= factor;
        float logits[LINE];
        for (int64_t k = 0; k < network->kinds; k += LINE) {
            const int64_t count = network->kinds - k < LINE ? network->kinds - k : LINE;
            EACH(v, LINE)
                logits[v] = v < count ? -(kind[k + v] + query[width + k + v]) : 0;
            VECTORS(v, LINE)
                AT(logits + v) = 1.0f / (1.0f + NAME(exponential, KIND)(GIVEN(logits + v)));
            EACH(v, count)
                kind[k + v] = logits[v];
        }
    }
}

/* The cosines of all words of both sides: sources x targets, and the other way round. */
static void NAME(match, KIND)(Room *room, int number, const float *rows, int64_t pitch, int64_t width)
{
    const Own *source = &room->own[0], *target = &room->own[1];
    float *one_way = room->one_way[number], *other_way = room->other_way[number];
    EACH(k, width) {
        float *out = room->transposed + k * target->padded;
        EACH(j, target->length)
            out[j] = rows[(target->first + j) * pitch + k];
        for (int64_t j = target->length; j < target->padded; j++)
            out[j] = 0;
    }
    const MATRIX sources = {rows + source->first * pitch, source->length, pitch, 1};
    memset(one_way, 0, (size_t)(source->length * target->padded) * sizeof *one_way);
    NAME(multiply, KIND)(sources, room->transposed, width, target->padded, NULL, one_way,
                         target->padded);
    EACH(j, target->length) {
        EACH(i, source->length)
            other_way[j * source->padded + i] = one_way[i * target->padded + j];
        for (int64_t i = source->length; i < source->padded; i++)
            other_way[j * source->padded + i] = 0;
    }
}

/* The scores of a word of the other side by all own words, and the best ones so far. */
static void NAME(score, KIND)(const Network *network, Room *room, int number, int64_t j)
{
    const Own *own = &room->own[number];
    const int64_t padded = own->padded;
    const int64_t letter = room->spelt[1 - number][0][j], figure = room->spelt[1 - number][1][j];
    const int64_t *restrict letters = room->spelt[number][0], *restrict figures = room->spelt[number][1];
    float **cosines = number ? room->one_way : room->other_way;
    const float *restrict alone = cosines[0] + j * padded, *restrict context = cosines[1] + j * padded;
    float *restrict scores = own->attention + j * padded, *restrict tops = room->tops;
    float *restrict best = own->nearest[0], *restrict best_context = own->nearest[1];
    const float by_letters = network->weights[0], by_figures = network->weights[1];
    const float by_alone = network->weights[2], by_context = network->weights[3];
    EACH(i, padded) {
        const float score = alone[i] * by_alone + context[i] * by_context;
        scores[i] = score;
        best[i] = best[i] > alone[i] ? best[i] : alone[i];
        best_context[i] = best_context[i] > context[i] ? best_context[i] : context[i];
    }
    EACH(i, own->length)
        if (letters[i] == letter) {
            scores[i] += by_letters;
            own->letters_alike[i] = 1;
        }
    if (figure)
        EACH(i, own->length)
            if (figures[i] == figure) {
                scores[i] += by_figures;
                own->figures_alike[i] = 1;
            }
    EACH(i, padded)
        tops[i] = tops[i] > scores[i] ? tops[i] : scores[i];
}

/* Coverage of the words of one side by the other's: see coverage() in word_network.py. */
static void NAME(cover, KIND)(const Network *network, Room *room, int number)
{
    Own *own = &room->own[number];
    const Own *other = &room->own[1 - number];
    const int64_t padded = own->padded;
    float **cosines = number ? room->one_way : room->other_way;
    EACH(i, padded) {
        own->letters_alike[i] = own->figures_alike[i] = own->expected[i] = room->sums[i] = 0;
        own->nearest[0][i] = own->nearest[1][i] = room->tops[i] = -1e30f;
        own->nearest[2][i] = own->nearest[3][i] = 0;
    }
    EACH(j, other->length)
        NAME(score, KIND)(network, room, number, j);
    EACH(j, other->length)
        VECTORS(i, padded) {
            float *at = own->attention + j * padded + i;
            AT(at) = NAME(exponential, KIND)((GIVEN(at) - GIVEN(room->tops + i)) * 2.0f);
            AT(room->sums + i) += GIVEN(at);
        }
    VECTORS(i, padded)
        AT(own->sure + i) = 1.0f / GIVEN(room->sums + i); /* the largest is 1 before */
    EACH(j, other->length)
        VECTORS(i, padded) {
            const VECTOR part = GIVEN(own->attention + j * padded + i) * GIVEN(own->sure + i);
            AT(own->attention + j * padded + i) = part;
            AT(own->expected + i) += part * (float)j;
            AT(own->nearest[2] + i) += part * GIVEN(cosines[0] + j * padded + i);
            AT(own->nearest[3] + i) += part * GIVEN(cosines[1] + j * padded + i);
        }
    EACH(i, own->length) {
        own->step[i] = i + 1 < own->length ? own->expected[i + 1] - own->expected[i] : 0;
        own->lag[i] = (own->expected[i] / (float)other->length - (float)i / (float)own->length) * 6;
    }
}

INLINE float NAME(within, KIND)(float number, float low, float high)
{
    return number > low ? number < high ? number : high : low;
}

/* Add a word to the kernels of a number: the two about it. */
INLINE void NAME(count, KIND)(float number, float first, float last, int points, const float *every,
                              int64_t kinds, float *sums)
{
    const float steps = (float)(points - 1);
    const float at = NAME(within, KIND)((number - first) * (steps / (last - first)), 0, steps);
    const int below = (int)at;
    const float rest = at - (float)below;
    float *to = sums + below * kinds;
    VECTORS(k, kinds)
        AT(to + k) += (1 - rest) * GIVEN(every + k);
    if (rest > 0)
        VECTORS(k, kinds)
            AT(to + kinds + k) += rest * GIVEN(every + k);
}

/* Histograms of the coverage of a side's words, for each kind of words: COVERAGE x kinds. */
static void NAME(pool, KIND)(const Own *own, const float *every, int64_t kinds, float *counts, float *out)
{
    memset(out, 0, (size_t)(COVERAGE * kinds) * sizeof *out);
    memset(counts, 0, (size_t)kinds * sizeof *counts);
    EACH(i, own->length) {
        const float *row = every + (own->first + i) * kinds;
        float *to = out;
        for (int k = 0; k < 4; k++, to += COSINES * kinds)
            NAME(count, KIND)(own->nearest[k][i], -0.2f, 1, COSINES, row, kinds, to);
        NAME(count, KIND)(own->step[i], -3, 3, PLACES, row, kinds, to);
        NAME(count, KIND)(own->lag[i], -3, 3, PLACES, row, kinds, to + PLACES * kinds);
        to += 2 * PLACES * kinds;
        const float step = own->step[i] < 0 ? -own->step[i] : own->step[i];
        const float plain[4] = {own->letters_alike[i], own->figures_alike[i], own->sure[i],
                                (step < 4 ? step : 4) / 4};
        EACH(f, 4)
            VECTORS(k, kinds)
                AT(to + f * kinds + k) += plain[f] * GIVEN(row + k);
        VECTORS(k, kinds)
            AT(counts + k) += GIVEN(row + k);
    }
    float factors[LINE];
    for (int64_t k = 0; k < kinds; k += LINE) {
        VECTORS(v, LINE)
            AT(factors + v) = 1.0f / (GIVEN(counts + k + v) + 0.05f * (float)own->length);
        EACH(f, COVERAGE)
            VECTORS(v, LINE)
                AT(out + f * kinds + k + v) *= GIVEN(factors + v);
    }
}

/* Compare the words of a side with what they attend to: rows of room->compare. */
static void NAME(compare, KIND)(const Network *network, Room *room, int number)
{
    const int64_t width = WHOLE(network->width), every = WHOLE(network->kinds + FLAG_COUNT + 1);
    const int64_t pitch = 4 * width + every + LINE;
    const Own *own = &room->own[number], *other = &room->own[1 - number];
    float *rows = room->compare + own->first * pitch;
    const MATRIX attention = {own->attention, own->length, 1, own->padded};
    EACH(i, own->length)
        memset(rows + i * pitch + width, 0, (size_t)width * sizeof *rows);
    NAME(multiply, KIND)(attention, room->states + other->first * width, other->length, width, NULL,
                         rows + width, pitch);
    EACH(i, own->length) {
        const float *restrict state = room->states + (own->first + i) * width;
        float *restrict row = rows + i * pitch;
        EACH(k, width) {
            const float found = row[width + k], difference = state[k] - found;
            row[k] = state[k];
            row[2 * width + k] = difference < 0 ? -difference : difference;
            row[3 * width + k] = state[k] * found;
        }
        memcpy(row + 4 * width, room->every + (own->first + i) * every, (size_t)every * sizeof *row);
        const float scalars[SCALARS] = {
            own->letters_alike[i], own->figures_alike[i], own->sure[i],
            NAME(within, KIND)(own->lag[i], -6, 6), NAME(within, KIND)(own->step[i], -3, 3),
            own->nearest[0][i], own->nearest[1][i], own->nearest[2][i], own->nearest[3][i]};
        memcpy(row + 4 * width + every, scalars, sizeof scalars);
    }
}

/* Mean and highest of some columns of a side's rows. */
INLINE void NAME(summarise, KIND)(const float *rows, int64_t pitch, int64_t length, int64_t width,
                                  float *mean, float *top)
{
    memset(mean, 0, (size_t)width * sizeof *mean);
    memset(top, 0, (size_t)width * sizeof *top);
    EACH(i, length)
        EACH(k, width) {
            const float number = rows[i * pitch + k];
            mean[k] += number;
            top[k] = number > top[k] ? number : top[k];
        }
    const float factor = 1 / (float)length;
    EACH(k, width)
        mean[k] *= factor;
}

INLINE float NAME(log_of_count, KIND)(float count)
{
    return count != 0 ? log1pf(count) : 0;
}

/* The inputs of the hidden layer that are of one side. Returns how many. */
static int64_t NAME(see_side, KIND)(const Network *network, Room *room, int number, float *out)
{
    const int64_t width = WHOLE(network->width), every = WHOLE(network->kinds + FLAG_COUNT + 1);
    const int64_t features = network->features;
    const int64_t before = 3 * network->width + network->meaning + network->kinds;
    const int64_t pitch = WHOLE(before + features);
    const Own *own = &room->own[number];
    float *at = out + COVERAGE * every;
    NAME(pool, KIND)(own, room->every, every, room->sums, out);
    EACH(k, network->kinds)
        *at++ = NAME(log_of_count, KIND)(room->sums[k]);
    NAME(summarise, KIND)(room->compared + own->first * width, width, own->length, width, at, at + width);
    at += 2 * width;
    const float *rows = room->words + own->first * pitch + before;
    memset(at, 0, (size_t)features * sizeof *at);
    EACH(i, own->length)
        EACH(k, features)
            at[k] += rows[i * pitch + k];
    EACH(k, features)
        at[k] = NAME(log_of_count, KIND)(at[k]);
    memcpy(at + features, rows, (size_t)features * sizeof *at);
    memcpy(at + 2 * features, rows + (own->length - 1) * pitch, (size_t)features * sizeof *at);
    at += 3 * features;
    *at++ = logf((float)own->length);
    if (network->bigrams) {
        NAME(summarise, KIND)(room->fluency + 4 * own->first, 4, own->length, 4, at, at + 4);
        at += 8;
    }
    return at - out;
}

/* Difference and product of the sentence vectors, and three times their cosine. */
static float NAME(contrast, KIND)(const float *restrict a, const float *restrict b, int64_t dim,
                                  float *restrict out)
{
    const float by_a = NAME(scale, KIND)(a, dim), by_b = NAME(scale, KIND)(b, dim);
    EACH(k, dim) {
        const float one = a[k] * by_a, two = b[k] * by_b;
        out[k] = (one > two ? one - two : two - one) * 10;
        out[dim + k] = one * two * 10;
    }
    return 3 * (NAME(product, KIND)(a, b, dim) * by_a * by_b);
}

/* Ask for the words of a pair before it is read: they are anywhere in large tables. */
static void NAME(announce, KIND)(const Network *network, const Side *side, int64_t pair)
{
    const int64_t columns = 3 * network->width + network->meaning + network->kinds + network->features;
    const int32_t *words = side->words + side->starts[side->rows[pair]];
    EACH(i, side->lengths[side->rows[pair]]) {
        const char *row = (const char *)(side->table + words[i] * columns);
        for (int64_t at = 0; at < 2 * columns; at += 64)
            __builtin_prefetch(row + at);
        __builtin_prefetch(side->letters + words[i]);
        __builtin_prefetch(side->figures + words[i]);
        __builtin_prefetch(side->hashes + words[i]);
    }
}

/* The inputs of the hidden layer but for the sentence vectors: *sentence* is their place. */
static void NAME(see_pair, KIND)(const Network *network, const Side *sides, int64_t pair, Room *room,
                                 float *out, int64_t *sentence)
{
    const int64_t width = WHOLE(network->width), every = WHOLE(network->kinds + FLAG_COUNT + 1);
    const int64_t kinds = WHOLE(network->kinds), pitch = 4 * width + every + LINE;
    const int64_t meaning = 3 * network->width;
    const int64_t columns = WHOLE(meaning + network->meaning + network->kinds + network->features);
    int64_t rows = 0, read[2];
    for (int s = 0; s < 2; s++) {
        Own *own = &room->own[s];
        own->length = sides[s].lengths[sides[s].rows[pair]];
        own->padded = WHOLE(own->length);
        own->first = rows;
        rows += own->length + 1;
        memset(room->first + (rows - 1) * width, 0, (size_t)width * sizeof *room->first);
        NAME(read_sentence, KIND)(network, &sides[s], sides[s].rows[pair], s, room);
    }
    memset(room->every + room->own[0].length * every, 0, (size_t)every * sizeof *room->every);
    NAME(read_contexts, KIND)(network, room, --rows);
    NAME(match, KIND)(room, 0, room->words + meaning, columns, network->meaning);
    NAME(match, KIND)(room, 1, room->queries, width + kinds, width);
    memset(room->compare + room->own[0].length * pitch, 0, (size_t)pitch * sizeof *room->compare);
    for (int s = 0; s < 2; s++) {
        NAME(cover, KIND)(network, room, s);
        NAME(compare, KIND)(network, room, s);
    }
    const MATRIX words = {room->compare, rows, pitch, 1}, hidden = {room->hidden, rows, width, 1};
    NAME(multiply, KIND)(words, network->compare, 4 * width + every + SCALARS, width,
                         network->compare_bias, room->hidden, width);
    NAME(relu, KIND)(room->hidden, rows * width);
    NAME(multiply, KIND)(hidden, network->compared, width, width, network->compared_bias,
                         room->compared, width);
    NAME(relu, KIND)(room->compared, rows * width);
    for (int s = 0; s < 2; s++)
        read[s] = NAME(see_side, KIND)(network, room, s, out + s * read[0]);
    *sentence = read[0] + read[1];
    const float *counts = out + COVERAGE * every + network->kinds + 2 * width;
    EACH(k, network->features) {
        const float difference = counts[k] - counts[read[0] + k];
        out[*sentence + SENTENCE + 1 + k] = difference < 0 ? -difference : difference;
    }
}

/* The inputs of the hidden layer. */
INLINE int64_t NAME(inputs, KIND)(const Network *network)
{
    const int64_t width = WHOLE(network->width), every = WHOLE(network->kinds + FLAG_COUNT + 1);
    const int64_t side = COVERAGE * every + network->kinds + 2 * width + 3 * network->features + 1
        + (network->bigrams ? 8 : 0);
    return 2 * side + SENTENCE + 1 + network->features;
}

/* The logits of a few pairs, whose inputs are in *seen* and *sentences*. */
static void NAME(decide, KIND)(const Network *network, int64_t pairs, Group *group, float *logits)
{
    const int64_t inputs = NAME(inputs, KIND)(network), hidden = WHOLE(network->hidden);
    const int64_t outputs = WHOLE(network->logits), place = inputs - network->features - 1 - SENTENCE;
    const MATRIX sentences = {group->sentences, pairs, 2 * network->dim, 1};
    NAME(multiply_in_tiles, KIND)(sentences, network->sentence, 2 * network->dim, SENTENCE,
                                  network->sentence_bias, group->hidden);
    EACH(p, pairs) {
        memcpy(group->seen + p * inputs + place, group->hidden + p * SENTENCE, SENTENCE * sizeof(float));
        NAME(relu, KIND)(group->seen + p * inputs + place, SENTENCE);
    }
    const MATRIX seen = {group->seen, pairs, inputs, 1}, last = {group->hidden, pairs, hidden, 1};
    NAME(multiply_in_tiles, KIND)(seen, network->hidden_weight, inputs, hidden, network->hidden_bias,
                                  group->hidden);
    NAME(relu, KIND)(group->hidden, pairs * hidden);
    NAME(multiply, KIND)(last, network->out, hidden, outputs, network->out_bias, group->out, outputs);
    EACH(p, pairs)
        memcpy(logits + p * network->logits, group->out + p * outputs,
               (size_t)network->logits * sizeof(float));
}

static int64_t NAME(logits, KIND)(const Network *network, const Side *sides, int64_t first,
                                  int64_t last, float *logits)
{
    Room room;
    Group group;
    const int64_t inputs = NAME(inputs, KIND)(network), dim = network->dim;
    float *memory = claim(network, sides, first, last, &room), *shared = claim_group(network, inputs, &group);
    for (int64_t at = first; memory && shared && at < last; at += GROUP) {
        const int64_t pairs = last - at < GROUP ? last - at : GROUP;
        EACH(p, pairs) {
            const float *a = sides[0].vectors + sides[0].rows[at + p] * dim;
            const float *b = sides[1].vectors + sides[1].rows[at + p] * dim;
            float *seen = group.seen + p * inputs;
            int64_t sentence;
            for (int s = 0; s < 2 && at + p + 1 < last; s++)
                NAME(announce, KIND)(network, &sides[s], at + p + 1);
            NAME(see_pair, KIND)(network, sides, at + p, &room, seen, &sentence);
            seen[sentence + SENTENCE] = NAME(contrast, KIND)(a, b, dim, group.sentences + p * 2 * dim);
        }
        NAME(decide, KIND)(network, pairs, &group, logits + at * network->logits);
    }
    const int failed = !memory || !shared;
    free(memory);
    free(shared);
    return failed;
}

/* See word_table. */
static void NAME(table, KIND)(const Network *network, const float *words, int64_t count, float *out)
{
    const int64_t inputs = network->dim + network->features, contexts = 3 * network->width;
    const int64_t outputs = WHOLE(contexts + network->meaning + network->kinds);
    for (int64_t at = 0; at < count; at += GROUP) {
        const int64_t rows = count - at < GROUP ? count - at : GROUP;
        const MATRIX some = {words + at * inputs, rows, inputs, 1};
        NAME(multiply_in_tiles, KIND)(some, network->table, inputs, outputs, network->table_bias,
                                      out + at * outputs);
    }
    EACH(n, count) {
        float *meaning = out + n * outputs + contexts;
        const float factor = NAME(scale, KIND)(meaning, network->meaning);
        EACH(k, network->meaning)
            meaning[k] *= factor;
    }
}

#undef VECTOR
#undef INTEGERS
#undef MATRIX
#undef INLINE
#undef AT
#undef GIVEN
#undef EACH
#undef VECTORS
