/* The nearest rows of two sides to each other, by products of 8-bit integers, then exactly.
 *
 * compiled_search.py says how rows are rounded, and why nothing is missed. Each product of the
 * heads of two rows is compared in registers with the limits of both; of the few pairs that reach
 * either, the tails are multiplied, too; of the few that still may be among the nearest, the rows
 * themselves, without rounding. The k nearest so far raise the limits at once.
 *
 * No two calls that run at a time may have a row of either side in common. There is no Python here.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROWS 12    /* of side 0, and */
#define COLUMNS 32 /* of side 1, whose products are in registers at a time */
#define FOUR 4     /* numbers that are multiplied at once */
#define CHUNK 85   /* tiles of side 0 that stay in a cache of 1 MB, for heads of some 300 numbers */
#define NEVER INT32_MAX
#define ALWAYS (-2000000000)

/* The rows of a side, and the nearest of the other side that are known of each. */
typedef struct {
    int64_t rows;
    const float *units;   /* rows x dim, from unit_rows */
    const uint8_t *heads; /* ROWS or COLUMNS rows together, FOUR numbers of each in turn; side 1: + 128 */
    const uint8_t *tails; /* rows x tail; side 1: + 128 */
    const int32_t *start; /* of sums of products of heads: takes the 128 out; side 0 */
    const int32_t *more;  /* rows x 2: the start for tails; the number in the spare places of heads */
    const float *lengths; /* rows x 4: what rounding took from head and tail, and what it left */
    const float *loose;   /* the most by which an exact product can exceed that of the heads */
    float *floors;        /* the least cosine that is wanted of each row */
    int32_t *limits;      /* the least product of heads that may reach it; filled up to whole tiles */
    float *cosines;       /* rows x k, best first; -INFINITY for none */
    int32_t *numbers;     /* rows of the other side */
} Side;

typedef struct {
    int64_t dim, head, tail, spares, k;
    double head_unit, tail_unit; /* of products of integers */
    double error; /* the most by which turning changed a product */
    Side sides[2];
} Search;

/* Sums of products of a tile, row by row, and the places of those that reach a limit. */
typedef struct {
    int32_t sums[ROWS * COLUMNS], reaching[ROWS * COLUMNS + COLUMNS];
} Tile;

/* The functions of a kind of processor. tile: sums of a tile, up to *head* numbers; returns how many
 * reach a limit. tail and exact: the product of two rows.
 */
typedef struct {
    int (*tile)(const Search *, int64_t row, int64_t column, Tile *);
    int32_t (*tail)(const int8_t *, const uint8_t *, int64_t count);
    double (*exact)(const float *, const float *, int64_t count);
} Kind;

static int reaching(const Search *search, int64_t row, int64_t column, Tile *tile)
{
    const int32_t *own = search->sides[0].limits + row, *other = search->sides[1].limits + column;
    int count = 0;
    for (int place = 0; place < ROWS * COLUMNS; place++) {
        const int32_t one = own[place / COLUMNS], two = other[place % COLUMNS];
        tile->reaching[count] = place;
        count += tile->sums[place] >= (one < two ? one : two);
    }
    return count;
}

static int tile_plain(const Search *search, int64_t row, int64_t column, Tile *tile)
{
    const int8_t *a = (const int8_t *)search->sides[0].heads + row * search->head;
    const uint8_t *b = search->sides[1].heads + column * search->head;
    for (int place = 0; place < ROWS * COLUMNS; place++)
        tile->sums[place] = search->sides[0].start[row + place / COLUMNS];
    for (int64_t k = 0; k < search->head; k += FOUR, a += ROWS * FOUR, b += COLUMNS * FOUR)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++)
                for (int q = 0; q < FOUR; q++)
                    tile->sums[r * COLUMNS + c] += a[r * FOUR + q] * b[c * FOUR + q];
    return reaching(search, row, column, tile);
}

static int32_t tail_plain(const int8_t *a, const uint8_t *b, int64_t count)
{
    int32_t sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Sums are held without rounding (vectors.py), so that their order does not matter. */
static double exact_plain(const float *a, const float *b, int64_t count)
{
    double sums[4] = {0};
    int64_t k = 0;
    for (; k + 4 <= count; k += 4)
        for (int v = 0; v < 4; v++)
            sums[v] += (double)a[k + v] * b[k + v];
    for (; k < count; k++)
        sums[0] += (double)a[k] * b[k];
    return sums[0] + sums[1] + sums[2] + sums[3];
}

#if defined(__x86_64__) && defined(__GNUC__)
#define SEVERAL
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,popcnt")))

/* Four rows and 16 columns of a tile. Returns 1 if any sum reaches a limit. */
AVX2 static inline int part_avx2(const Search *search, int64_t row, int64_t column, int32_t *sums)
{
    const Side *left = &search->sides[0], *right = &search->sides[1];
    const int8_t *a = (const int8_t *)left->heads + row / ROWS * ROWS * search->head + row % ROWS * FOUR;
    const uint8_t *b =
        right->heads + column / COLUMNS * COLUMNS * search->head + column % COLUMNS * FOUR;
    const __m256i low = _mm256_set1_epi16(255);
    __m256i sum[4][2];
    for (int r = 0; r < 4; r++)
        sum[r][0] = sum[r][1] = _mm256_set1_epi32(left->start[row + r]);
    for (int64_t k = 0; k < search->head; k += FOUR, a += ROWS * FOUR, b += COLUMNS * FOUR) {
        __m256i even[2], odd[2];
        for (int v = 0; v < 2; v++) {
            const __m256i both = _mm256_loadu_si256((const __m256i *)(b + 32 * v));
            even[v] = _mm256_and_si256(both, low), odd[v] = _mm256_srli_epi16(both, 8);
        }
        for (int r = 0; r < 4; r++) {
            int32_t four;
            memcpy(&four, a + r * FOUR, sizeof four);
            const __m256i every = _mm256_set1_epi32(four), second = _mm256_srai_epi16(every, 8);
            const __m256i first = _mm256_srai_epi16(_mm256_slli_epi16(every, 8), 8);
            for (int v = 0; v < 2; v++)
                sum[r][v] = _mm256_add_epi32(
                    sum[r][v], _mm256_add_epi32(_mm256_madd_epi16(first, even[v]),
                                                _mm256_madd_epi16(second, odd[v])));
        }
    }
    __m256i under = _mm256_set1_epi32(-1);
    for (int r = 0; r < 4; r++)
        for (int v = 0; v < 2; v++) {
            const __m256i own = _mm256_set1_epi32(left->limits[row + r]);
            const __m256i others = _mm256_loadu_si256((const __m256i *)(right->limits + column) + v);
            under = _mm256_and_si256(
                under, _mm256_cmpgt_epi32(_mm256_min_epi32(own, others), sum[r][v]));
            _mm256_storeu_si256((__m256i *)(sums + r * COLUMNS) + v, sum[r][v]);
        }
    return _mm256_movemask_epi8(under) != -1;
}

AVX2 static int tile_avx2(const Search *search, int64_t row, int64_t column, Tile *tile)
{
    int any = 0;
    for (int r = 0; r < ROWS; r += 4)
        for (int c = 0; c < COLUMNS; c += 16)
            any |= part_avx2(search, row + r, column + c, tile->sums + r * COLUMNS + c);
    return any ? reaching(search, row, column, tile) : 0;
}

AVX2 static int32_t tail_avx2(const int8_t *a, const uint8_t *b, int64_t count)
{
    __m256i sums = _mm256_setzero_si256();
    for (int64_t k = 0; k < count; k += 16) /* tails are whole cache lines */
        sums = _mm256_add_epi32(
            sums, _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(a + k))),
                                    _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(b + k)))));
    int32_t parts[8];
    _mm256_storeu_si256((__m256i *)parts, sums);
    return parts[0] + parts[1] + parts[2] + parts[3] + parts[4] + parts[5] + parts[6] + parts[7];
}

AVX2 static double exact_avx2(const float *a, const float *b, int64_t count)
{
    __m256d sums[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(),
                       _mm256_setzero_pd()};
    int64_t k = 0;
    for (; k + 16 <= count; k += 16)
        for (int v = 0; v < 4; v++)
            sums[v] = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm_loadu_ps(a + k + 4 * v)),
                                      _mm256_cvtps_pd(_mm_loadu_ps(b + k + 4 * v)), sums[v]);
    double parts[4];
    _mm256_storeu_pd(parts, _mm256_add_pd(_mm256_add_pd(sums[0], sums[1]),
                                          _mm256_add_pd(sums[2], sums[3])));
    return parts[0] + parts[1] + parts[2] + parts[3] + exact_plain(a + k, b + k, count - k);
}

/* Each row of a tile; its sums have names, so that they stay in registers. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define BEGIN(r) __m512i low##r = _mm512_set1_epi32(left->start[row + r]), high##r = low##r;
#define MULTIPLY(r)                                                          \
    memcpy(&four, a + r * FOUR, sizeof four), every = _mm512_set1_epi32(four); \
    __asm__("vpdpbusd %1, %2, %0" : "+v"(low##r) : "v"(every), "v"(first)); \
    __asm__("vpdpbusd %1, %2, %0" : "+v"(high##r) : "v"(every), "v"(second));
#define COMPARE(r)                                                                             \
    every = _mm512_set1_epi32(left->limits[row + r]);                                          \
    any |= masks[r][0] = _mm512_cmpge_epi32_mask(low##r, _mm512_min_epi32(every, first));      \
    any |= masks[r][1] = _mm512_cmpge_epi32_mask(high##r, _mm512_min_epi32(every, second));
#define KEEP(r)                                              \
    _mm512_storeu_si512(tile->sums + r * COLUMNS, low##r); \
    _mm512_storeu_si512(tile->sums + r * COLUMNS + 16, high##r);

AVX512 static int tile_avx512(const Search *search, int64_t row, int64_t column, Tile *tile)
{
    const Side *left = &search->sides[0], *right = &search->sides[1];
    const int8_t *a = (const int8_t *)left->heads + row * search->head;
    const uint8_t *b = right->heads + column * search->head;
    __m512i first, second, every;
    uint32_t any = 0, masks[ROWS][2];
    int32_t four;
    int count = 0;
    EACH_ROW(BEGIN)
    for (int64_t k = 0; k < search->head; k += FOUR, a += ROWS * FOUR, b += COLUMNS * FOUR) {
        first = _mm512_loadu_si512(b), second = _mm512_loadu_si512(b + 64);
        EACH_ROW(MULTIPLY)
    }
    first = _mm512_loadu_si512(right->limits + column);
    second = _mm512_loadu_si512(right->limits + column + 16);
    EACH_ROW(COMPARE)
    if (!any)
        return 0;
    EACH_ROW(KEEP)
    every = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int place = 0; place < ROWS * COLUMNS; place += 16) {
        const uint32_t mask = masks[place / COLUMNS][place / 16 % 2];
        _mm512_storeu_si512(tile->reaching + count, _mm512_maskz_compress_epi32((__mmask16)mask, every));
        every = _mm512_add_epi32(every, _mm512_set1_epi32(16));
        count += __builtin_popcount(mask);
    }
    return count;
}

AVX512 static int32_t tail_avx512(const int8_t *a, const uint8_t *b, int64_t count)
{
    __m512i sums = _mm512_setzero_si512();
    for (int64_t k = 0; k < count; k += 64)
        sums = _mm512_dpbusd_epi32(sums, _mm512_loadu_si512(b + k), _mm512_loadu_si512(a + k));
    return _mm512_reduce_add_epi32(sums);
}

AVX512 static double exact_avx512(const float *a, const float *b, int64_t count)
{
    __m512d sums[4] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(),
                       _mm512_setzero_pd()};
    int64_t k = 0;
    for (; k + 32 <= count; k += 32)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            sums[v] = _mm512_fmadd_pd(_mm512_cvtps_pd(_mm256_loadu_ps(a + k + 8 * v)),
                                      _mm512_cvtps_pd(_mm256_loadu_ps(b + k + 8 * v)), sums[v]);
    return _mm512_reduce_add_pd(_mm512_add_pd(_mm512_add_pd(sums[0], sums[1]),
                                              _mm512_add_pd(sums[2], sums[3])))
           + exact_plain(a + k, b + k, count - k);
}
#endif

static const Kind KINDS[] = {
    {tile_plain, tail_plain, exact_plain},
#ifdef SEVERAL
    {tile_avx2, tail_avx2, exact_avx2},
    {tile_avx512, tail_avx512, exact_avx512},
#endif
};

/* Of the structures above: the same number stands in compiled_search.py. */
int64_t nearest_rows_layout(void)
{
    return 1;
}

/* The best of the kinds that this processor can: 0 plain, 1 with AVX2, 2 with AVX-512 VNNI. */
int64_t nearest_rows_kind(void)
{
#ifdef SEVERAL
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 1;
#endif
    return 0;
}

static void set_limit(const Search *search, const Side *side, int64_t row)
{
    const double least = ((double)side->floors[row] - side->loose[row]) / search->head_unit - 1;
    side->limits[row] = least <= ALWAYS ? ALWAYS : least >= NEVER ? NEVER : (int32_t)floor(least);
}

/* Set the limits of all rows by their floors; of what fills up the last tile, none. */
void nearest_rows_begin(const Search *search)
{
    for (int s = 0; s < 2; s++) {
        const Side *side = &search->sides[s];
        const int64_t width = s ? COLUMNS : ROWS;
        for (int64_t row = 0; row < side->rows; row++)
            set_limit(search, side, row);
        for (int64_t row = side->rows; row % width; row++)
            side->limits[row] = NEVER;
    }
}

/* Put a row among the k nearest of another, best first, the lower number first among equals. */
static void insert(const Search *search, const Side *side, int64_t row, int64_t other, float cosine)
{
    float *cosines = side->cosines + row * search->k;
    int32_t *numbers = side->numbers + row * search->k;
    int64_t at = search->k - 1;
    if (cosine < side->floors[row]
        || !(cosine > cosines[at] || (cosine == cosines[at] && other < numbers[at])))
        return;
    for (; at > 0; at--) {
        const float above = cosines[at - 1];
        if (above > cosine || (above == cosine && numbers[at - 1] < other))
            break;
        cosines[at] = above, numbers[at] = numbers[at - 1];
    }
    cosines[at] = cosine, numbers[at] = (int32_t)other;
    if (cosines[search->k - 1] > side->floors[row]) {
        side->floors[row] = cosines[search->k - 1];
        set_limit(search, side, row);
    }
}

/* Look closer at a pair whose heads' product reaches a limit. Returns 1 if the rows were multiplied. */
static inline int look(const Search *search, const Kind *kind, int64_t row, int64_t column, int32_t sum)
{
    const Side *left = &search->sides[0], *right = &search->sides[1];
    const float *own = left->lengths + 4 * row, *other = right->lengths + 4 * column;
    const int32_t tails = kind->tail((const int8_t *)left->tails + row * search->tail,
                                     right->tails + column * search->tail, search->tail);
    const int64_t spare = search->spares * left->more[2 * row + 1] * right->more[2 * column + 1];
    double most = search->head_unit * (double)(sum - spare) + search->error
                  + search->tail_unit * (double)(left->more[2 * row] + tails);
    for (int part = 0; part < 2; part++)
        most += (double)own[part] * ((double)other[part] + other[2 + part])
                + (double)own[2 + part] * other[part];
    if (most < left->floors[row] && most < right->floors[column])
        return 0;
    const double product = kind->exact(left->units + row * search->dim,
                                       right->units + column * search->dim, search->dim);
    const float cosine = (float)(product > 1 ? 1 : product < -1 ? -1 : product);
    insert(search, left, row, column, cosine);
    insert(search, right, column, row, cosine);
    return 1;
}

/* Read what a look needs of the next columns into the cache: they come from far away. */
static void fetch(const Search *search, int64_t column)
{
    const Side *right = &search->sides[1];
    const int64_t last = column + COLUMNS < right->rows ? column + COLUMNS : right->rows;
    for (int64_t at = column * search->tail; at < last * search->tail; at += 64)
        __builtin_prefetch(right->tails + at);
    for (int64_t at = column; at < last; at += 4)
        __builtin_prefetch(right->lengths + 4 * at), __builtin_prefetch(right->more + 2 * at);
}

/* Compare rows first[0] to last[0] of side 0 with rows first[1] to last[1] of side 1.
 *
 * first: multiples of ROWS and of COLUMNS. kind: no more than nearest_rows_kind(). counts: grow by
 * the pairs whose tails, and whose rows, were multiplied.
 */
void nearest_rows(const Search *search, const int64_t *first, const int64_t *last, int64_t kind,
                  int64_t *counts)
{
    const Kind *with = &KINDS[kind];
    Tile tile;
    for (int64_t chunk = first[0]; chunk < last[0]; chunk += CHUNK * ROWS)
        for (int64_t column = first[1]; column < last[1]; column += COLUMNS) {
            fetch(search, column + COLUMNS);
            for (int64_t row = chunk; row < last[0] && row < chunk + CHUNK * ROWS; row += ROWS) {
                const int count = with->tile(search, row, column, &tile);
                for (int at = 0; at < count; at++) {
                    const int place = tile.reaching[at];
                    const int64_t r = row + place / COLUMNS, c = column + place % COLUMNS;
                    if (r < last[0] && c < last[1])
                        counts[1] += look(search, with, r, c, tile.sums[place]);
                }
                counts[0] += count;
            }
        }
}

/* Rows as integers. */
typedef struct {
    int64_t dim, split, head, tail, spares; /* the first *split* numbers of a row are its head's */
    float steps[2]; /* of head and tail */
    uint8_t flip;   /* 128 for side 1, else 0 */
    int64_t width;  /* ROWS or COLUMNS */
    uint8_t *heads, *tails;
    int32_t *start, *more;
    float *lengths;
    uint8_t *beyond; /* 1 for rows with a number that is out of range */
} Rounding;

#define LANES 16

/* Round LANES numbers to integers of -127 to 127 steps; add up squares of what is lost and kept. */
static inline void round_lanes(const float *from, float step, uint8_t flip, uint8_t *to,
                               float *lost, float *kept, float *furthest)
{
    const float magic = 12582912.0f, inverse = 1 / step; /* 1.5 * 2**23 makes integers */
    int32_t whole[LANES];
    for (int v = 0; v < LANES; v++) {
        float steps = from[v] * inverse;
        steps = steps < 127.0f ? steps : 127.0f;
        steps = steps > -127.0f ? steps : -127.0f;
        whole[v] = (int32_t)((steps + magic) - magic);
        const float value = step * (float)whole[v], off = from[v] - value, size = fabsf(off);
        lost[v] += off * off;
        kept[v] += value * value;
        furthest[v] = size > furthest[v] ? size : furthest[v];
    }
    for (int v = 0; v < LANES; v++)
        to[v] = (uint8_t)whole[v] ^ flip;
}

/* Round a part of a row, head (0) or tail (1); FOUR numbers stand together, *apart* bytes from the
 * next. Lengths are taken 1e-4 too long, for the rounding of their sums. Returns the integers' sum.
 */
static int32_t round_part(const Rounding *how, int part, int64_t row, const float *from,
                          int64_t count, uint8_t *to, int64_t apart)
{
    const float step = how->steps[part];
    float lost[LANES] = {0}, kept[LANES] = {0}, furthest[LANES] = {0}, sums[3] = {0};
    int32_t sum = 0;
    for (int64_t k = 0; k < count; k += LANES) {
        float given[LANES] = {0};
        uint8_t whole[LANES];
        const int64_t rest = count - k < LANES ? count - k : LANES;
        memcpy(given, from + k, (size_t)rest * sizeof *given);
        round_lanes(given, step, how->flip, whole, lost, kept, furthest);
        for (int64_t v = 0; v < rest; v += FOUR)
            memcpy(to + (k + v) / FOUR * apart, whole + v, FOUR);
        for (int v = 0; v < LANES; v++)
            sum += (int8_t)(whole[v] ^ how->flip);
    }
    for (int v = 0; v < LANES; v++) {
        sums[0] += lost[v], sums[1] += kept[v];
        sums[2] = furthest[v] > sums[2] ? furthest[v] : sums[2];
    }
    how->lengths[4 * row + part] = sqrtf(sums[0]) * 1.0001f;
    how->lengths[4 * row + 2 + part] = sqrtf(sums[1]) * 1.0001f;
    how->beyond[row] |= sums[2] > 0.51f * step;
    return sum;
}

/* Round rotated rows (count x dim), which are to stand from row *first* on. */
void nearest_rows_round(const Rounding *how, const float *rows, int64_t first, int64_t count)
{
    const int64_t apart = how->width * FOUR, split = how->split, rest = how->dim - split;
    for (int64_t row = first; row < first + count; row++, rows += how->dim) {
        uint8_t *head = how->heads + row / how->width * how->width * how->head
                        + row % how->width * FOUR;
        const int32_t sum = round_part(how, 0, row, rows, split, head, apart);
        const int32_t tails =
            round_part(how, 1, row, rows + split, rest, how->tails + row * how->tail, FOUR);
        double square = 0;
        for (int64_t k = split; k < how->dim; k++)
            square += (double)rows[k] * rows[k];
        const double exact = ceil(sqrt(square / (double)how->spares) * 1.0001 / how->steps[0]);
        const int32_t spare = exact < 127 ? (int32_t)exact : 127;
        how->beyond[row] |= exact > 127;
        for (int64_t k = how->head - how->spares; k < how->head; k++)
            head[k / FOUR * apart + k % FOUR] = (uint8_t)spare ^ how->flip;
        how->start[row] = -128 * (sum + (int32_t)how->spares * spare);
        how->more[2 * row] = -128 * tails;
        how->more[2 * row + 1] = spare;
    }
}

/* Write the sums of the tile that begins with a row and a column; return how many reach a limit. */
int64_t nearest_rows_tile(const Search *search, int64_t row, int64_t column, int64_t kind,
                          int32_t *sums, int32_t *places)
{
    Tile tile;
    const int count = KINDS[kind].tile(search, row, column, &tile);
    if (count) {
        memcpy(sums, tile.sums, sizeof tile.sums);
        memcpy(places, tile.reaching, (size_t)count * sizeof *places);
    }
    return count;
}
