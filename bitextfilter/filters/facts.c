/* Facts of many sentences in one pass over their UTF-8, for filters/facts.py, which says what each is.
 *
 * Sentences are pieces of one array of bytes: valid UTF-8, in which surrogates may stand. Code
 * points are grouped into at most 256 kinds, and a kind is in some of 32 tables: a row of 32 bytes,
 * 0 or 1, so that adding rows counts the characters of all tables at once. Table 0 has everything
 * but white space: it counts characters, words and words of one character like any other.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CLONES "avx2"
#include "../io/wide.h"

#define TABLES 32
#define CODES 0x110000
#define LINE_END '\n'
#define FLUSH 255 /* characters that a byte can count */

typedef uint8_t Row __attribute__((vector_size(TABLES), aligned(1))); /* a byte for each table */

typedef struct {
    const uint8_t *data;
    const int64_t *starts;
    const int64_t *ends; /* of each sentence */
    int64_t count;
} Side;

typedef struct {
    const uint8_t *kinds;   /* of each code point */
    const Row *members;     /* of each kind: its tables */
    const uint8_t *spaces;  /* of each kind: 255 for white space, else 0 */
    const uint8_t *breaks;  /* of each kind: 255 for white space and scripts without it, else 0 */
    const uint32_t *first;  /* of each kind: the meetings that it may begin, a bit each */
    const uint32_t *second; /* of each kind: the meetings that it may end */
    const int32_t *asked;   /* answers: table, + 32 for its words, + 64 lone, + 96 spaced words */
    int64_t answers;        /* of *asked* */
} Kinds;

/* answers x stride, and of each sentence. */
typedef struct {
    int64_t *answers;
    int64_t *lengths, *longest;
    uint32_t *meetings;
    int64_t stride; /* not near a multiple of a page, or the answers fight for the cache */
} Facts;

int64_t facts_layout(void) { return 3; }

static inline uint32_t next_code(const uint8_t **place)
{
    const uint8_t *p = *place;
    uint32_t code = p[0];
    if (code < 0x80) {
        *place = p + 1;
        return code;
    }
    if (code < 0xE0) {
        *place = p + 2;
        return (code & 0x1F) << 6 | (p[1] & 0x3Fu);
    }
    if (code < 0xF0) {
        *place = p + 3;
        return (code & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    }
    *place = p + 4;
    return (code & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}

enum { CHARACTERS, WORDS, LONE, COUNTS }; /* LONE: words of one character */

/* A count of a table is that of *last*, of the last FLUSH characters at most, and that of *before*
 * if the sentence is *longer* than that. */
typedef struct {
    Row last[COUNTS];
    int32_t before[COUNTS][TABLES];
    int64_t length, longest;
    uint32_t meetings;
    int longer;
} Sentence;

static void flush(Sentence *sentence)
{
    if (!sentence->longer)
        memset(sentence->before, 0, sizeof sentence->before);
    sentence->longer = 1;
    for (int count = 0; count < COUNTS; count++)
        for (int64_t table = 0; table < TABLES; table++)
            sentence->before[count][table] += sentence->last[count][table];
    memset(sentence->last, 0, sizeof sentence->last);
}

/* Words end at the kinds with 255 in *ends*. A word is the bitwise or of its characters so far.
 * There is no branch for the ends of words: they come unforeseen. */
WIDE static void read_sentence(
    const uint8_t *place, const uint8_t *end, const Kinds *known, const uint8_t *ends, Sentence *out)
{
    Row counts = {0}, words = {0}, lone = {0}, word = {0};
    uint32_t before = 0, meetings = 0;
    int64_t size = 0, longest = 0;
    out->length = out->longer = 0;
    for (;;) {
        int left = FLUSH;
        for (; left && place < end; left--) {
            uint8_t kind = known->kinds[next_code(&place)], stop = ends[kind];
            Row row = known->members[kind], stopped = (Row){0} + stop;
            meetings |= before & known->second[kind];
            before = known->first[kind];
            counts += row;
            if (stop && size == 1)
                lone += word;
            words += word & stopped;
            word = (word | row) & ~stopped;
            size = (size + 1) & (stop - 1) >> 8;
            longest = size > longest ? size : longest;
        }
        out->length += FLUSH - left;
        int whole = place >= end;
        if (whole)
            words += word;
        if (whole && size == 1)
            lone += word;
        out->last[CHARACTERS] = counts;
        out->last[WORDS] = words;
        out->last[LONE] = lone;
        if (whole)
            break;
        flush(out);
        counts = words = lone = (Row){0};
    }
    out->longest = longest;
    out->meetings = meetings | (before & known->second[known->kinds[LINE_END]]);
}

static inline int64_t count_of(const Sentence *sentence, int count, int32_t table)
{
    int32_t before = sentence->longer ? sentence->before[count][table] : 0;
    return before + sentence->last[count][table];
}

/* All facts of a side. Table 1 has the scripts without spaces between words. */
void side_facts(const Side *side, const Kinds *known, const Facts *facts)
{
    Sentence both[2], *plain = &both[0];
    for (int64_t index = 0; index < side->count; index++) {
        const uint8_t *start = side->data + side->starts[index];
        const uint8_t *end = side->data + side->ends[index];
        const Sentence *spaced = plain;
        read_sentence(start, end, known, known->spaces, plain);
        if (count_of(plain, CHARACTERS, 1)) {
            read_sentence(start, end, known, known->breaks, &both[1]);
            spaced = &both[1];
        }
        for (int64_t answer = 0, cell = index; answer < known->answers; answer++) {
            int32_t count = known->asked[answer] / TABLES, table = known->asked[answer] % TABLES;
            facts->answers[cell] =
                count == COUNTS ? count_of(spaced, WORDS, table) : count_of(plain, count, table);
            cell += facts->stride;
        }
        facts->lengths[index] = plain->length;
        facts->longest[index] = spaced->longest;
        facts->meetings[index] = plain->meetings;
    }
}

/* Room for the code points of the longest sentence of a side; NULL without memory. */
static uint32_t *room_for(const Side *side)
{
    int64_t most = 0;
    for (int64_t index = 0; index < side->count; index++) {
        int64_t size = side->ends[index] - side->starts[index];
        most = size > most ? size : most;
    }
    return malloc((size_t)(most + 1) * sizeof(uint32_t));
}

static inline uint64_t two_codes(const uint32_t *codes)
{
    uint64_t both;
    memcpy(&both, codes, sizeof both);
    return both;
}

/* Whether *run* characters in a row, 2 or more, each equal the one *lag* further on. Such a run
 * holds one of the places that are looked at, and the one after it. */
static int repeats_at(const uint32_t *codes, int64_t count, int64_t lag, int64_t run)
{
    for (int64_t place = run - 2; place + 1 + lag < count; place += run - 1) {
        if (two_codes(codes + place) != two_codes(codes + place + lag))
            continue;
        int64_t first = place, last = place + 2;
        while (first > 0 && last - first < run && codes[first - 1] == codes[first - 1 + lag])
            first--;
        while (last + lag < count && last - first < run && codes[last] == codes[last + lag])
            last++;
        if (last - first >= run)
            return 1;
    }
    return 0;
}

/* Which sentences, spaces aside, repeat up to *longest* characters *repeats* times or more, and the
 * numbers of characters, *lags*, that any of them repeats: arrays of 0, in which 1 is put.
 *
 * A single character counts only in a sentence with *spaces* spaces in a row.
 * Returns 0, or 1 where there is no memory.
 */
int64_t side_repeats(
    const Side *side, int64_t repeats, int64_t spaces, int64_t longest, uint8_t *found, uint8_t *lags)
{
    uint32_t *codes = room_for(side);
    if (!codes)
        return 1;
    for (int64_t index = 0; index < side->count; index++) {
        const uint8_t *place = side->data + side->starts[index];
        const uint8_t *end = side->data + side->ends[index];
        int64_t count = 0, row = 0, single = 0;
        while (place < end) { /* without a branch for spaces: they come unforeseen */
            uint32_t code = next_code(&place);
            int64_t space = code == ' ';
            codes[count] = code;
            count += 1 - space;
            row = (row + 1) & -space;
            single |= row >= spaces;
        }
        int64_t last = count / (repeats + 1);
        last = last < longest ? last : longest;
        for (int64_t lag = 2 - single; lag <= last; lag++) {
            int64_t run = repeats * lag;
            if (run < 2 || repeats_at(codes, count, lag, run))
                found[index] = lags[lag] = 1;
        }
    }
    free(codes);
    return 0;
}

/* The runs of characters of a table whose sketch may be known: their sentences, their places among
 * the runs of the sentence, and their sketches.
 *
 * bits: of 2^15 first bits of a sketch, those of the known ones. Of more than *room* runs only
 * their number is returned; -1 where there is no memory.
 */
int64_t side_sketches(
    const Side *side, const uint8_t *table, const uint32_t *lower, uint32_t spread,
    const uint8_t *bits, int64_t room, int64_t *sentences, int64_t *places, uint32_t *sketches)
{
    int64_t hits = 0;
    uint32_t *codes = room_for(side), *edges = room_for(side);
    for (int64_t index = 0; index < side->count && codes && edges; index++) {
        const uint8_t *place = side->data + side->starts[index];
        const uint8_t *end = side->data + side->ends[index];
        uint32_t count = 0, inside = 0;
        int64_t bounds = 0;
        while (place < end) { /* without a branch for the ends of runs */
            uint32_t before = inside;
            codes[count] = next_code(&place);
            inside = table[codes[count]];
            edges[bounds] = count++;
            bounds += inside != before;
        }
        edges[bounds] = count;
        for (int64_t bound = 0; bound < bounds; bound += 2) {
            const uint32_t *run = codes + edges[bound];
            uint32_t size = edges[bound + 1] - edges[bound];
            uint32_t sketch = size * spread + lower[run[0]];
            sketch = sketch * spread + lower[run[size > 1]];
            sketch = sketch * spread + lower[run[size / 2]];
            sketch = sketch * spread + lower[run[size - 1]];
            uint32_t bit = sketch >> 17;
            if (!(bits[bit >> 3] >> (bit & 7) & 1))
                continue;
            if (hits < room) {
                sentences[hits] = index;
                places[hits] = bound / 2;
                sketches[hits] = sketch;
            }
            hits++;
        }
    }
    hits = codes && edges ? hits : -1;
    free(codes);
    free(edges);
    return hits;
}

#define BUCKETS 64

static void fill(const Side *side, int64_t index, int16_t *bag)
{
    const uint8_t *place = side->data + side->starts[index];
    const uint8_t *end = side->data + side->ends[index];
    memset(bag, 0, BUCKETS * sizeof *bag);
    while (place < end)
        bag[next_code(&place) % BUCKETS]++;
}

/* A bound below the edit distance of each pair of *asked*, by the characters of either side that
 * the other one lacks, whatever their order. Sides have fewer than 2^15 characters. */
void pair_bags(const Side *one, const Side *other, const uint8_t *asked, int32_t *bounds)
{
    int16_t a[BUCKETS], b[BUCKETS];
    for (int64_t index = 0; index < one->count; index++) {
        int32_t more = 0, fewer = 0;
        if (asked[index]) {
            fill(one, index, a);
            fill(other, index, b);
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                int32_t difference = a[bucket] - b[bucket];
                more += difference > 0 ? difference : 0;
                fewer += difference < 0 ? -difference : 0;
            }
        }
        bounds[index] = more > fewer ? more : fewer;
    }
}
