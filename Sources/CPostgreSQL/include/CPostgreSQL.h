// libpq, loaded when it is needed, with deadlines: each call ends by itself.
#ifndef CPOSTGRESQL_H
#define CPOSTGRESQL_H

#include <stdint.h>

// A connection to a database, and the result of its latest statement; one thread at a time may use it.
typedef struct balloon_postgres balloon_postgres;

// Looks libpq up, once; returns 1 when it is installed. No other function of this header may be called before.
int balloon_postgres_load(void);

// Whether the certificate of a server of `url` is checked, or no network is between: 1, 0, or -1 when the URL is wrong.
int balloon_postgres_is_safe(const char *url);

// Connects to a server that accepts writes. Never returns NULL, except without memory: balloon_postgres_error is empty after a
// success.
balloon_postgres *balloon_postgres_connect(const char *url, const char *name, int milliseconds);
void balloon_postgres_close(balloon_postgres *postgres);

// The major version times 10,000, and the process of the server.
int balloon_postgres_version(const balloon_postgres *postgres);
int balloon_postgres_process(const balloon_postgres *postgres);

// Runs a statement with binary parameters, whose bytes follow one another in `bytes`; a length of -1 is NULL. Without types,
// `sql` may be several statements. With a name, the statement is planned once for the connection. Returns 0; 1 when the database refused it; 2 when the connection is of no use any more and
// nobody knows whether the statement was carried out.
int balloon_postgres_run(
    balloon_postgres *postgres, const char *sql, const char *name, int count, const uint32_t *types, const int *lengths,
    const uint8_t *bytes, int milliseconds);

// Plans the statement `name`; results as balloon_postgres_run.
int balloon_postgres_prepare(
    balloon_postgres *postgres, const char *sql, const char *name, int count, const uint32_t *types, int milliseconds);

// The latest error's text, and its SQLSTATE or an empty text.
const char *balloon_postgres_error(const balloon_postgres *postgres);
const char *balloon_postgres_state(const balloon_postgres *postgres);

// The rows and columns of the latest result, and a binary value with its length; -1 is the length of NULL.
int balloon_postgres_rows(const balloon_postgres *postgres);
int balloon_postgres_columns(const balloon_postgres *postgres);
const uint8_t *balloon_postgres_value(const balloon_postgres *postgres, int row, int column, int *length);

#endif
