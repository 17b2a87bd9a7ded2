/*-------------------------------------------------------------------------
 *
 * shim.c
 *		What src/frame*.c needs of a server, for a program without one.
 *
 * Every palloc is a malloc of its own, so that the sanitizers see its bounds,
 * in one list that is freed after each input. An error jumps to the handler.
 * The lexer, the encodings and the sort come from the server's own libraries,
 * which find the allocation functions here too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <stdarg.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "shim.h"

typedef struct Chunk
{
	struct Chunk *next;
	struct Chunk *previous;
} Chunk;

#define OF_POINTER(pointer)	((Chunk *) (pointer) - 1)

ShimError	shim_error;
sigjmp_buf	shim_handler;

volatile sig_atomic_t InterruptPending = false;

static Chunk chunks = {&chunks, &chunks};

/* --- memory --------------------------------------------------------------- */

static void
link_chunk(Chunk *chunk)
{
	chunk->next = chunks.next;
	chunk->previous = &chunks;
	chunks.next->previous = chunk;
	chunks.next = chunk;
}

static void
unlink_chunk(Chunk *chunk)
{
	chunk->next->previous = chunk->previous;
	chunk->previous->next = chunk->next;
}

void
shim_free_all(void)
{
	while (chunks.next != &chunks)
		pfree(chunks.next + 1);
}

void *
palloc_extended(Size size, int flags)
{
	Chunk	   *chunk;

	if (size > MaxAllocSize && !(flags & MCXT_ALLOC_HUGE))
		abort();				/* the server would raise XX000 */
	chunk = malloc(sizeof(Chunk) + size);
	if (chunk == NULL)
		abort();
	memset(chunk + 1, flags & MCXT_ALLOC_ZERO ? 0 : 0x7F, size);
	link_chunk(chunk);
	return chunk + 1;
}

void *
palloc(Size size)
{
	return palloc_extended(size, 0);
}

void *
palloc0(Size size)
{
	return palloc_extended(size, MCXT_ALLOC_ZERO);
}

void
pfree(void *pointer)
{
	unlink_chunk(OF_POINTER(pointer));
	free(OF_POINTER(pointer));
}

void *
repalloc_huge(void *pointer, Size size)
{
	Chunk	   *chunk = OF_POINTER(pointer);

	unlink_chunk(chunk);
	chunk = realloc(chunk, sizeof(Chunk) + size);
	if (chunk == NULL)
		abort();
	link_chunk(chunk);
	return chunk + 1;
}

void *
repalloc(void *pointer, Size size)
{
	if (size > MaxAllocSize)
		abort();
	return repalloc_huge(pointer, size);
}

char *
pnstrdup(const char *text, Size len)
{
	char	   *result;

	len = strnlen(text, len);
	result = palloc(len + 1);
	memcpy(result, text, len);
	result[len] = '\0';
	return result;
}

char *
pstrdup(const char *text)
{
	return pnstrdup(text, strlen(text));
}

/* the same by the names that the libraries use */
extern void *pg_malloc(size_t size);
extern void *pg_malloc0(size_t size);
extern void *pg_malloc_extended(size_t size, int flags);
extern void *pg_realloc(void *pointer, size_t size);
extern char *pg_strdup(const char *text);
extern void pg_free(void *pointer);

void *
pg_malloc(size_t size)
{
	return palloc(size);
}

void *
pg_malloc0(size_t size)
{
	return palloc0(size);
}

void *
pg_malloc_extended(size_t size, int flags)
{
	return palloc_extended(size, flags);
}

void *
pg_realloc(void *pointer, size_t size)
{
	return pointer ? repalloc(pointer, size) : palloc(size);
}

char *
pg_strdup(const char *text)
{
	return pstrdup(text);
}

void
pg_free(void *pointer)
{
	if (pointer)
		pfree(pointer);
}

/* --- errors --------------------------------------------------------------- */

bool
errstart(int elevel, const char *domain)
{
	if (elevel < ERROR)
		return false;
	memset(&shim_error, 0, sizeof(shim_error));
	shim_error.code = ERRCODE_INTERNAL_ERROR;
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	siglongjmp(shim_handler, 1);
}

int
errcode(int sqlerrcode)
{
	shim_error.code = sqlerrcode;
	return 0;
}

/* Keeps a formatted text in a field of the error. */
#define KEEP(field, format) \
	do { \
		va_list		args; \
		va_start(args, format); \
		pg_vsnprintf(shim_error.field, sizeof(shim_error.field), format, args); \
		va_end(args); \
	} while (0)

int
errmsg(const char *format,...)
{
	KEEP(message, format);
	return 0;
}

int
errmsg_internal(const char *format,...)
{
	KEEP(message, format);
	return 0;
}

int
errdetail(const char *format,...)
{
	KEEP(detail, format);
	return 0;
}

int
errhint(const char *format,...)
{
	KEEP(hint, format);
	return 0;
}

/* --- the rest ------------------------------------------------------------- */

void
ProcessInterrupts(void)
{
}

void
check_stack_depth(void)
{
}
