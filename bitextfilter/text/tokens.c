/* Tokens between white space, numbered in order of appearance: a growing table of all so far.
 *
 * ragged.py calls these functions. There is no Python here.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 32 /* tokens that are found before they are numbered */

typedef struct {
    int64_t start, length; /* in the table's characters */
    int64_t window, place; /* the latest window that has the token, and its place there */
} Token;

typedef struct {
    uint32_t tag, number; /* part of the hash; the token's number + 1, or 0 for no token */
} Slot;

typedef struct {
    uint64_t keys[2]; /* drawn by the caller, so that no text is made of tokens that collide */
    Slot *slots;
    int64_t mask, slot_bits; /* slots - 1, and their number's logarithm */
    Token *tokens;
    int64_t count, room;
    uint32_t *characters;
    int64_t used, space;
    int64_t windows;
} Table;

/* Of the arguments below, and of the structures that the caller sees: none. */
int64_t tokens_layout(void)
{
    return 1;
}

void tokens_free(Table *table)
{
    if (table) {
        free(table->slots);
        free(table->tokens);
        free(table->characters);
        free(table);
    }
}

/* Return an empty table; NULL without memory. */
Table *tokens_make(uint64_t first, uint64_t second)
{
    Table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->keys[0] = first;
    table->keys[1] = second | 1;
    table->slot_bits = 8;
    table->mask = ((int64_t)1 << table->slot_bits) - 1;
    table->slots = calloc((size_t)table->mask + 1, sizeof *table->slots);
    if (!table->slots) {
        tokens_free(table);
        return NULL;
    }
    return table;
}

/* White space of Python's str.split, and the control character 0. */
static inline int is_space(uint32_t c)
{
    if (c <= 32)
        return (0x1F0003E01ULL >> c) & 1;
    if (c < 0x1680)
        return c == 0x85 || c == 0xA0;
    if (c < 0x2000 || c > 0x3000)
        return c == 0x1680;
    return c <= 0x200A || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static inline uint64_t mixed(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const Table *table, const uint32_t *text, int64_t length)
{
    uint64_t hash = table->keys[0] ^ (uint64_t)length, two;
    int64_t k = 0;
    for (; k + 1 < length; k += 2) {
        memcpy(&two, text + k, sizeof two);
        hash = mixed(hash ^ two, table->keys[1]);
    }
    if (k < length)
        hash = mixed(hash ^ text[k], table->keys[1]);
    return mixed(hash ^ table->keys[1], table->keys[0] | 1);
}

/* Return memory of at least `wanted` things of a size, with what there was; NULL without. */
static void *grown(void *memory, int64_t *room, int64_t wanted, size_t size)
{
    if (wanted <= *room)
        return memory;
    const int64_t larger = wanted + *room / 2 + 64;
    void *moved = realloc(memory, (size_t)larger * size);
    if (moved)
        *room = larger;
    return moved;
}

/* Double the slots; returns 1 without memory. */
static int widen(Table *table)
{
    const int64_t bits = table->slot_bits + 1, mask = ((int64_t)1 << bits) - 1;
    Slot *slots = calloc((size_t)mask + 1, sizeof *slots);
    if (!slots)
        return 1;
    for (int64_t number = 0; number < table->count; number++) {
        const Token *token = table->tokens + number;
        const uint64_t hash = hash_of(table, table->characters + token->start, token->length);
        int64_t at = (int64_t)(hash >> (64 - bits));
        while (slots[at].number)
            at = (at + 1) & mask;
        slots[at] = (Slot){(uint32_t)hash, (uint32_t)number + 1};
    }
    free(table->slots);
    table->slots = slots;
    table->slot_bits = bits;
    table->mask = mask;
    return 0;
}

/* A token of the text. */
typedef struct {
    int64_t start, length;
    uint64_t hash;
} Found;

/* Return the number of a token, which may be the next one; -1 without memory. */
static int64_t number_of(Table *table, const uint32_t *text, const Found *found)
{
    if (2 * (table->count + 1) > table->mask && widen(table))
        return -1;
    const int64_t length = found->length;
    int64_t at = (int64_t)(found->hash >> (64 - table->slot_bits));
    for (; table->slots[at].number; at = (at + 1) & table->mask) {
        if (table->slots[at].tag != (uint32_t)found->hash)
            continue;
        const Token *token = table->tokens + (table->slots[at].number - 1);
        const uint32_t *characters = table->characters + token->start;
        if (token->length == length && !memcmp(characters, text, (size_t)length * sizeof *text))
            return table->slots[at].number - 1;
    }
    if (table->count >= UINT32_MAX - 1)
        return -1;
    Token *tokens = grown(table->tokens, &table->room, table->count + 1, sizeof *tokens);
    if (!tokens)
        return -1;
    table->tokens = tokens;
    uint32_t *characters =
        grown(table->characters, &table->space, table->used + length + 1, sizeof *characters);
    if (!characters)
        return -1;
    table->characters = characters;
    if (length)
        memcpy(characters + table->used, text, (size_t)length * sizeof *text);
    table->tokens[table->count] = (Token){table->used, length, 0, 0};
    table->used += length;
    table->slots[at] = (Slot){(uint32_t)found->hash, (uint32_t)++table->count};
    return table->count - 1;
}

/* Results of a window, and tokens that wait until their slots are in the processor's cache. */
typedef struct {
    int64_t *flat, *distinct, *spans, *counts; /* of flat, distinct and new ones */
    int64_t held;
    Found waiting[AHEAD];
} Window;

/* Return the place of a token among the distinct ones of the window; -1 without memory. */
static int64_t place_of(Table *table, Window *window, const uint32_t *text, const Found *found)
{
    const int64_t known = table->count;
    const int64_t number = number_of(table, text + found->start, found);
    if (number < 0)
        return -1;
    if (number == known) {
        int64_t *span = window->spans + 2 * window->counts[2]++;
        span[0] = found->start;
        span[1] = found->start + found->length;
    }
    Token *token = table->tokens + number;
    if (token->window != table->windows) {
        token->window = table->windows;
        token->place = window->counts[1]++;
        window->distinct[token->place] = number;
    }
    return token->place;
}

/* Number the tokens that wait; returns 1 without memory. */
static int number_waiting(Table *table, Window *window, const uint32_t *text)
{
    for (int64_t k = 0; k < window->held; k++) {
        const Slot *slot = table->slots + (window->waiting[k].hash >> (64 - table->slot_bits));
        if (slot->number)
            __builtin_prefetch(table->tokens + (slot->number - 1));
    }
    for (int64_t k = 0; k < window->held; k++) {
        const int64_t place = place_of(table, window, text, window->waiting + k);
        if (place < 0)
            return 1;
        window->flat[window->counts[0]++] = place;
    }
    window->held = 0;
    return 0;
}

/* Number the tokens of a window of sentences; the empty token is 0 there, and in the table.
 *
 * text: all characters, one sentence after the other; sizes: those of each sentence.
 * flat, distinct, spans: room for (characters + sentences) / 2 + 2 numbers, spans for twice as many.
 * flat -> the place of each token among the distinct ones of the window; lengths -> of the
 * sentences, in tokens; distinct -> numbers; spans -> begin and end in `text` of those that are
 * new to the table; counts -> of flat, distinct and new ones.
 * Returns 1 without memory; the table may then know tokens that nobody was told of.
 */
int64_t tokens_read(Table *table, const uint32_t *text, const int64_t *sizes, int64_t sentences,
                    int64_t *flat, int64_t *lengths, int64_t *distinct, int64_t *spans,
                    int64_t *counts)
{
    Window window = {flat, distinct, spans, counts, 0, {{0}}};
    const Found empty = {0, 0, hash_of(table, text, 0)};
    table->windows++;
    counts[0] = counts[1] = counts[2] = 0;
    if (place_of(table, &window, text, &empty) < 0)
        return 1;
    int64_t end = 0, at = 0;
    for (int64_t sentence = 0; sentence < sentences; sentence++) {
        end += sizes[sentence];
        lengths[sentence] = 0;
        for (;;) {
            while (at < end && is_space(text[at]))
                at++;
            if (at == end)
                break;
            const int64_t start = at;
            while (at < end && !is_space(text[at]))
                at++;
            const uint64_t hash = hash_of(table, text + start, at - start);
            __builtin_prefetch(table->slots + (hash >> (64 - table->slot_bits)));
            window.waiting[window.held++] = (Found){start, at - start, hash};
            lengths[sentence]++;
            if (window.held == AHEAD && number_waiting(table, &window, text))
                return 1;
        }
    }
    return number_waiting(table, &window, text);
}
