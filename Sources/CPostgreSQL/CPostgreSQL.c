#include "CPostgreSQL.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// libpq's types and constants, declared here so that a build needs no package for them.
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef struct {
    char *keyword, *envvar, *compiled, *val, *label, *dispchar;
    int dispsize;
} PQconninfoOption;
enum { CONNECTION_OK = 0 };
enum { PGRES_POLLING_FAILED = 0, PGRES_POLLING_READING = 1, PGRES_POLLING_WRITING = 2, PGRES_POLLING_OK = 3 };
enum { PGRES_COMMAND_OK = 1, PGRES_TUPLES_OK = 2 };

static struct {
    PGconn *(*connectStartParams)(const char *const *, const char *const *, int);
    int (*connectPoll)(PGconn *);
    int (*status)(const PGconn *);
    char *(*errorMessage)(const PGconn *);
    int (*setnonblocking)(PGconn *, int);
    int (*sendQuery)(PGconn *, const char *);
    int (*sendQueryParams)(
        PGconn *, const char *, int, const uint32_t *, const char *const *, const int *, const int *, int);
    int (*sendPrepare)(PGconn *, const char *, const char *, int, const uint32_t *);
    int (*sendQueryPrepared)(
        PGconn *, const char *, int, const char *const *, const int *, const int *, int);
    int (*flush)(PGconn *);
    int (*consumeInput)(PGconn *);
    int (*isBusy)(PGconn *);
    PGresult *(*getResult)(PGconn *);
    int (*resultStatus)(const PGresult *);
    char *(*resultErrorField)(const PGresult *, int);
    int (*ntuples)(const PGresult *);
    int (*nfields)(const PGresult *);
    int (*getisnull)(const PGresult *, int, int);
    char *(*getvalue)(const PGresult *, int, int);
    int (*getlength)(const PGresult *, int, int);
    void (*clear)(PGresult *);
    void (*finish)(PGconn *);
    int (*socket)(const PGconn *);
    int (*serverVersion)(const PGconn *);
    int (*backendPID)(const PGconn *);
    PQconninfoOption *(*conninfoParse)(const char *, char **);
    void (*conninfoFree)(PQconninfoOption *);
    void (*(*setNoticeProcessor)(PGconn *, void (*)(void *, const char *), void *))(void *, const char *);
    int is_loaded;
} pq;

struct balloon_postgres {
    PGconn *connection;
    PGresult *result;
    char error[512], state[6];
};

static void load(void) {
    void *handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    int is_complete = 1;
#define FIND(name) is_complete &= (*(void **)&pq.name = dlsym(handle, "PQ" #name)) != NULL
    FIND(connectStartParams); FIND(connectPoll); FIND(status); FIND(errorMessage); FIND(setnonblocking);
    FIND(sendQuery); FIND(sendQueryParams); FIND(sendPrepare); FIND(sendQueryPrepared); FIND(flush); FIND(consumeInput); FIND(isBusy); FIND(getResult);
    FIND(resultStatus); FIND(resultErrorField); FIND(ntuples); FIND(nfields); FIND(getisnull); FIND(getvalue);
    FIND(getlength); FIND(clear); FIND(finish); FIND(socket); FIND(serverVersion); FIND(backendPID);
    FIND(conninfoParse); FIND(conninfoFree); FIND(setNoticeProcessor);
#undef FIND
    pq.is_loaded = is_complete;
}

int balloon_postgres_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return pq.is_loaded;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Waits until the socket is ready; 0 when the deadline has passed.
static int wait_for(const PGconn *connection, short events, int64_t deadline) {
    for (;;) {
        const int64_t left = deadline - now();
        struct pollfd socket = {pq.socket(connection), events, 0};
        if (left <= 0 || socket.fd < 0) return 0;
        const int ready = poll(&socket, 1, (int)left);
        if (ready > 0) return 1;
        if (ready == 0 || errno != EINTR) return 0;
    }
}

static void fail(balloon_postgres *postgres, const char *text) {
    snprintf(postgres->error, sizeof postgres->error, "%s", text);
    size_t length = strlen(postgres->error);
    while (length > 0 && postgres->error[length - 1] == '\n') postgres->error[--length] = 0;
    // Messages of libpq have several lines.
    for (char *byte = postgres->error; *byte != 0; byte++)
        if (*byte == '\n' || *byte == '\t') *byte = ' ';
}

static int is_local(const char *host) {
    return host[0] == '/' || host[0] == '@' || strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

int balloon_postgres_is_safe(const char *url) {
    PQconninfoOption *options = pq.conninfoParse(url, NULL);
    if (options == NULL) return -1;
    int is_near = 1, is_verified = 0;
    for (PQconninfoOption *option = options; option->keyword != NULL; option++) {
        if (option->val == NULL) continue;
        if (strcmp(option->keyword, "sslmode") == 0) is_verified = strcmp(option->val, "verify-full") == 0;
        if (strcmp(option->keyword, "service") == 0) is_near = 0;
        if (strcmp(option->keyword, "host") != 0 && strcmp(option->keyword, "hostaddr") != 0) continue;
        // Several hosts are a list with commas.
        char *rest = option->val, *host;
        while ((host = strsep(&rest, ",")) != NULL) is_near &= host[0] == 0 || is_local(host);
    }
    pq.conninfoFree(options);
    return is_near || is_verified;
}

// Without it, libpq writes notices to standard error.
static void ignore(void *context, const char *notice) { (void)context, (void)notice; }

balloon_postgres *balloon_postgres_connect(const char *url, const char *name, int milliseconds) {
    balloon_postgres *postgres = calloc(1, sizeof *postgres);
    if (postgres == NULL) return NULL;
    const int64_t deadline = now() + milliseconds;
    const char *keys[] = {"dbname", "application_name", "target_session_attrs", "client_encoding", NULL};
    const char *values[] = {url, name, "read-write", "UTF8", NULL};
    PGconn *connection = postgres->connection = pq.connectStartParams(keys, values, 1);
    if (connection == NULL) {
        fail(postgres, "no memory");
        return postgres;
    }
    pq.setNoticeProcessor(connection, ignore, NULL);
    int step = PGRES_POLLING_WRITING;
    while (pq.status(connection) != 1 && step != PGRES_POLLING_OK && step != PGRES_POLLING_FAILED) {
        if (!wait_for(connection, step == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)) {
            fail(postgres, "the database does not answer in time");
            return postgres;
        }
        step = pq.connectPoll(connection);
    }
    if (pq.status(connection) != CONNECTION_OK || pq.setnonblocking(connection, 1) != 0)
        fail(postgres, pq.errorMessage(connection));
    return postgres;
}

void balloon_postgres_close(balloon_postgres *postgres) {
    pq.clear(postgres->result);
    pq.finish(postgres->connection);
    free(postgres);
}

int balloon_postgres_version(const balloon_postgres *postgres) { return pq.serverVersion(postgres->connection); }
int balloon_postgres_process(const balloon_postgres *postgres) { return pq.backendPID(postgres->connection); }

// Sends what is buffered and waits for the next result; 0 when the connection or the time has ended.
static int receive(balloon_postgres *postgres, int64_t deadline) {
    PGconn *connection = postgres->connection;
    for (;;) {
        const int unsent = pq.flush(connection);
        if (unsent < 0) return 0;
        if (unsent == 0 && !pq.isBusy(connection)) return 1;
        if (!wait_for(connection, unsent ? POLLIN | POLLOUT : POLLIN, deadline)) {
            fail(postgres, "the database does not answer in time");
            return 0;
        }
        if (!pq.consumeInput(connection)) return 0;
    }
}

// Waits for all results of what was sent, and keeps the last one.
static int finish(balloon_postgres *postgres, int is_sent, int64_t deadline) {
    PGconn *connection = postgres->connection;
    int outcome = 0;
    while (is_sent && receive(postgres, deadline)) {
        PGresult *result = pq.getResult(connection);
        if (result == NULL) {
            if (pq.status(connection) != CONNECTION_OK) break;
            return outcome;
        }
        const int status = pq.resultStatus(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && outcome == 0) {
            const char *state = pq.resultErrorField(result, 'C'), *text = pq.resultErrorField(result, 'M');
            snprintf(postgres->state, sizeof postgres->state, "%s", state ? state : "");
            fail(postgres, text ? text : pq.errorMessage(connection));
            outcome = 1;
        }
        pq.clear(postgres->result);
        postgres->result = result;
    }
    if (postgres->error[0] == 0) fail(postgres, pq.errorMessage(connection));
    return 2;
}

static void forget(balloon_postgres *postgres) {
    postgres->error[0] = postgres->state[0] = 0;
    pq.clear(postgres->result);
    postgres->result = NULL;
}

int balloon_postgres_run(
    balloon_postgres *postgres, const char *sql, const char *name, int count, const uint32_t *types, const int *lengths,
    const uint8_t *bytes, int milliseconds
) {
    enum { LIMIT = 16 };
    const int64_t deadline = now() + milliseconds;
    const char *values[LIMIT];
    int formats[LIMIT];
    PGconn *connection = postgres->connection;
    forget(postgres);
    for (int i = 0; i < count && i < LIMIT; i++) {
        values[i] = lengths[i] < 0 ? NULL : (const char *)bytes;
        formats[i] = 1;
        if (lengths[i] > 0) bytes += lengths[i];
    }
    const int is_sent = types == NULL ? pq.sendQuery(connection, sql)
        : name == NULL ? pq.sendQueryParams(connection, sql, count, types, values, lengths, formats, 1)
                       : pq.sendQueryPrepared(connection, name, count, values, lengths, formats, 1);
    return finish(postgres, is_sent, deadline);
}

int balloon_postgres_prepare(
    balloon_postgres *postgres, const char *sql, const char *name, int count, const uint32_t *types, int milliseconds
) {
    forget(postgres);
    return finish(postgres, pq.sendPrepare(postgres->connection, name, sql, count, types), now() + milliseconds);
}

const char *balloon_postgres_error(const balloon_postgres *postgres) { return postgres->error; }
const char *balloon_postgres_state(const balloon_postgres *postgres) { return postgres->state; }
int balloon_postgres_rows(const balloon_postgres *postgres) { return pq.ntuples(postgres->result); }
int balloon_postgres_columns(const balloon_postgres *postgres) { return pq.nfields(postgres->result); }

const uint8_t *balloon_postgres_value(const balloon_postgres *postgres, int row, int column, int *length) {
    const PGresult *result = postgres->result;
    *length = pq.getisnull(result, row, column) ? -1 : pq.getlength(result, row, column);
    return (const uint8_t *)pq.getvalue(result, row, column);
}
