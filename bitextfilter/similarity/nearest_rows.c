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
    const int32_t *starts[2]; /* of sums of products of heads, and tails: take the 128 out; side 0 */
    const int32_t *spare; /* the number in the last places of the head, whose products bound the rest */
    const float *lost;    /* rows x 2: lengths of what rounding took from head and tail */
    const float *kept;    /* rows x 2: lengths of the rounded head and tail */
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

/* Sums of products of a tile; a mask of the columns that reach a limit for each row. */
typedef struct {
    int32_t sums[ROWS][COLUMNS];
    uint32_t reach[ROWS];
} Tile;

typedef struct {
    int (*tile)(const Search *, int64_t row, int64_t column, Tile *);
    int32_t (*tail)(const int8_t *, const uint8_t *, int64_t count);
    double (*exact)(const float *, const float *, int64_t count);
} Kind;

static int tile_plain(const Search *search, int64_t row, int64_t column, Tile *tile)
{
    const Side *left = &search->sides[0], *right = &search->sides[1];
    const int8_t *a = (const int8_t *)left->heads + row * search->head;
    const uint8_t *b = right->heads + column * search->head;
    int any = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            tile->sums[r][c] = left->starts[0][row + r];
    for (int64_t k = 0; k < search->head; k += FOUR, a += ROWS * FOUR, b += COLUMNS * FOUR)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++)
                for (int q = 0; q < FOUR; q++)
                    tile->sums[r][c] += a[r * FOUR + q] * b[c * FOUR + q];
    for (int r = 0; r < ROWS; r++) {
        tile->reach[r] = 0;
        for (int c = 0; c < COLUMNS; c++) {
            const int32_t own = left->limits[row + r], other = right->limits[column + c];
            tile->reach[r] |= (uint32_t)(tile->sums[r][c] >= (own < other ? own : other)) << c;
        }
        any |= tile->reach[r] != 0;
    }
    return any;
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
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma")))

/* Four rows and 16 columns of a tile. */
AVX2 static inline int part_avx2(const Search *search, const int8_t *a, const uint8_t *b,
                                 int64_t row, int64_t column, int r0, int c0, Tile *tile)
{
    const Side *left = &search->sides[0], *right = &search->sides[1];
    const __m256i low = _mm256_set1_epi16(255);
    __m256i sums[4][2];
    int any = 0;
    for (int r = 0; r < 4; r++)
        sums[r][0] = sums[r][1] = _mm256_set1_epi32(left->starts[0][row + r0 + r]);
    a += r0 * FOUR, b += c0 * FOUR;
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
                sums[r][v] = _mm256_add_epi32(
                    sums[r][v], _mm256_add_epi32(_mm256_madd_epi16(first, even[v]),
                                                 _mm256_madd_epi16(second, odd[v])));
        }
    }
    for (int r = 0; r < 4; r++)
        for (int v = 0; v < 2; v++) {
            const int c = c0 + 8 * v;
            const __m256i own = _mm256_set1_epi32(left->limits[row + r0 + r]);
            const __m256i others = _mm256_loadu_si256((const __m256i *)(right->limits + column + c));
            const __m256i under = _mm256_cmpgt_epi32(_mm256_min_epi32(own, others), sums[r][v]);
            const uint32_t reach = 255 & ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(under));
            _mm256_storeu_si256((__m256i *)(tile->sums[r0 + r] + c), sums[r][v]);
            tile->reach[r0 + r] |= reach << c;
            any |= reach != 0;
        }
    return any;
}

AVX2 static int tile_avx2(const Search *search, int64_t row, int64_t column, Tile *tile)
{
    const int8_t *a = (const int8_t *)search->sides[0].heads + row * search->head;
    const uint8_t *b = search->sides[1].heads + column * search->head;
    int any = 0;
    memset(tile->reach, 0, sizeof tile->reach);
    for (int r = 0; r < ROWS; r += 4)
        for (int c = 0; c < COLUMNS; c += 16)
            any |= part_avx2(search, a, b, row, column, r, c, tile);
    return any;
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
#define BEGIN(r) __m512i low##r = _mm512_set1_epi32(left->starts[0][row + r]), high##r = low##r;
#define MULTIPLY(r)                                                          \
    memcpy(&four, a + r * FOUR, sizeof four), every = _mm512_set1_epi32(four); \
    __asm__("vpdpbusd %1, %2, %0" : "+v"(low##r) : "v"(every), "v"(first)); \
    __asm__("vpdpbusd %1, %2, %0" : "+v"(high##r) : "v"(every), "v"(second));
#define COMPARE(r)                                                                             \
    every = _mm512_set1_epi32(left->limits[row + r]);                                          \
    any |= tile->reach[r] =                                                                    \
        (uint32_t)_mm512_cmpge_epi32_mask(low##r, _mm512_min_epi32(every, first))              \
        | (uint32_t)_mm512_cmpge_epi32_mask(high##r, _mm512_min_epi32(every, second)) << 16;
#define KEEP(r)                                   \
    _mm512_storeu_si512(tile->sums[r], low##r); \
    _mm512_storeu_si512(tile->sums[r] + 16, high##r);

AVX512 static int tile_avx512(const Search *search, int64_t row, int64_t column, Tile *tile)
{
    const Side *left = &search->sides[0], *right = &search->sides[1];
    const int8_t *a = (const int8_t *)left->heads + row * search->head;
    const uint8_t *b = right->heads + column * search->head;
    __m512i first, second, every;
    uint32_t any = 0;
    int32_t four;
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
    return 1;
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

/* The most by which a product of two parts of rows exceeds that of the parts as they were rounded. */
static inline double slack(const float *lost, const float *kept, const float *other_lost,
                           const float *other_kept)
{
    return (double)*lost * *other_kept + (double)*other_lost * (*kept + (double)*lost);
}

/* Look closer at a pair whose heads' product reaches a limit. Returns 1 if the rows were multiplied. */
static int look(const Search *search, const Kind *kind, int64_t row, int64_t column, int32_t sum)
{
    const Side *left = &search->sides[0], *right = &search->sides[1];
    const int64_t spared = search->spares * left->spare[row] * right->spare[column];
    const int32_t tails = kind->tail((const int8_t *)left->tails + row * search->tail,
                                     right->tails + column * search->tail, search->tail);
    double most = search->head_unit * (double)(sum - spared) + search->error
                  + search->tail_unit * (double)(left->starts[1][row] + tails);
    for (int part = 0; part < 2; part++)
        most += slack(left->lost + 2 * row + part, left->kept + 2 * row + part,
                      right->lost + 2 * column + part, right->kept + 2 * column + part);
    if (most < left->floors[row] && most < right->floors[column])
        return 0;
    const double product = kind->exact(left->units + row * search->dim,
                                       right->units + column * search->dim, search->dim);
    const float cosine = (float)(product > 1 ? 1 : product < -1 ? -1 : product);
    insert(search, left, row, column, cosine);
    insert(search, right, column, row, cosine);
    return 1;
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
        for (int64_t column = first[1]; column < last[1]; column += COLUMNS)
            for (int64_t row = chunk; row < last[0] && row < chunk + CHUNK * ROWS; row += ROWS) {
                if (!with->tile(search, row, column, &tile))
                    continue;
                for (int r = 0; r < ROWS && row + r < last[0]; r++)
                    for (uint32_t left = tile.reach[r]; left; left &= left - 1) {
                        const int c = __builtin_ctz(left);
                        if (column + c >= last[1])
                            break;
                        counts[0]++;
                        counts[1] += look(search, with, row + r, column + c, tile.sums[r][c]);
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
    int32_t *starts[2], *spare;
    float *lost, *kept;
    uint8_t *beyond; /* 1 for rows with a number that is out of range */
} Rounding;

/* Return the integer nearest to a number of steps, at most 127 away from 0. */
static inline int32_t steps_of(float value, float inverse)
{
    const float magic = 12582912.0f; /* 1.5 * 2**23 */
    const float steps = value * inverse, most = steps < 127.0f ? steps : 127.0f;
    return (int32_t)(((most > -127.0f ? most : -127.0f) + magic) - magic);
}

/* Round a part of a row, head (0) or tail (1); number k stands at to[k / FOUR * apart + k % FOUR].
 *
 * Lengths are taken 1e-4 too long, for the rounding of their sums. Returns the sum of the integers.
 */
static int32_t round_part(const Rounding *how, int part, int64_t row, const float *from,
                          int64_t count, uint8_t *to, int64_t apart)
{
    const float step = how->steps[part], inverse = 1 / step;
    float lost = 0, kept = 0, furthest = 0;
    int32_t sum = 0;
    for (int64_t k = 0; k < count; k++) {
        const int32_t whole = steps_of(from[k], inverse);
        const float value = step * (float)whole, off = from[k] - value;
        lost += off * off;
        kept += value * value;
        furthest = furthest > fabsf(off) ? furthest : fabsf(off);
        to[k / FOUR * apart + k % FOUR] = (uint8_t)whole ^ how->flip;
        sum += whole;
    }
    how->lost[2 * row + part] = sqrtf(lost) * 1.0001f;
    how->kept[2 * row + part] = sqrtf(kept) * 1.0001f;
    how->beyond[row] |= furthest > 0.51f * step;
    return sum;
}

/* Round rotated rows (count x dim), which are to stand from row *first* on. */
void nearest_rows_round(const Rounding *how, const float *rows, int64_t first, int64_t count)
{
    const int64_t apart = how->width * FOUR, split = how->split, rest = how->dim - split;
    for (int64_t row = first; row < first + count; row++, rows += how->dim) {
        uint8_t *head = how->heads + row / how->width * how->width * how->head
                        + row % how->width * FOUR;
        double square = 0;
        for (int64_t k = split; k < how->dim; k++)
            square += (double)rows[k] * rows[k];
        const double exact = ceil(sqrt(square / (double)how->spares) * 1.0001 / how->steps[0]);
        const int32_t spare = exact < 127 ? (int32_t)exact : 127;
        how->spare[row] = spare;
        how->beyond[row] |= exact > 127;
        for (int64_t k = how->head - how->spares; k < how->head; k++)
            head[k / FOUR * apart + k % FOUR] = (uint8_t)spare ^ how->flip;
        const int32_t sum = round_part(how, 0, row, rows, split, head, apart);
        how->starts[0][row] = -128 * (sum + (int32_t)how->spares * spare);
        how->starts[1][row] =
            -128 * round_part(how, 1, row, rows + split, rest, how->tails + row * how->tail, FOUR);
    }
}

/* unit_rows in vectors.py: rows (count x dim) of length 1, on the grid; the same bits. */
void nearest_rows_unit(const float *from, int64_t count, int64_t dim, double *room, float *to)
{
    const double anchor = 1.5 * 4503599627370496.0; /* 2**52 */
    for (int64_t row = 0; row < count; row++, from += dim, to += dim) {
        float largest = 0;
        for (int64_t k = 0; k < dim; k++)
            largest = largest > fabsf(from[k]) ? largest : fabsf(from[k]);
        int exponent;
        frexp(largest * sqrt((double)dim), &exponent);
        const double grid = ldexp(1.0, exponent - 26) * anchor, finest = ldexp(1.0, -24) * anchor;
        for (int64_t k = 0; k < dim; k++)
            room[k] = (from[k] + grid) - grid;
        double square = 0; /* exact, so that its order does not matter */
        for (int64_t k = 0; k < dim; k++)
            square += room[k] * room[k];
        const double length = square > 0 ? sqrt(square) : 1.0;
        for (int64_t k = 0; k < dim; k++)
            to[k] = (float)((room[k] / length + finest) - finest);
    }
}
