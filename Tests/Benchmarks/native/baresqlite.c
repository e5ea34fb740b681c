// The same rows with SQLite alone, without encryption and with only SQLite's own locks. `baresqlite
// PATH writes|reads COUNT` prints the seconds for COUNT durable transactions or look-ups.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;

static void run(const char *sql) {
  if (sqlite3_exec(database, sql, NULL, NULL, NULL)) {
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(database));
    exit(1);
  }
}

int main(int argc, char **argv) {
  if (argc != 4 || sqlite3_open(argv[1], &database)) return 64;
  int writes = !strcmp(argv[2], "writes");
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = FULL");
  run("CREATE TABLE IF NOT EXISTS meta (id INTEGER PRIMARY KEY, revision INTEGER) STRICT");
  run("CREATE TABLE IF NOT EXISTS credential (account TEXT, client_id TEXT, token BLOB, token_secret BLOB,"
      " client_secret BLOB, PRIMARY KEY (account, client_id)) STRICT");
  run("INSERT OR IGNORE INTO meta VALUES (1, 0)");
  run("INSERT OR IGNORE INTO credential VALUES ('a_0123456789abcdefghijkl', 'client',"
      " zeroblob(80), zeroblob(80), zeroblob(80))");
  const char *sql = writes ? "INSERT OR REPLACE INTO credential VALUES ('a_0123456789abcdefghijkl', 'client',"
                             " randomblob(80), randomblob(80), randomblob(80))"
                           : "SELECT * FROM credential WHERE account = 'a_0123456789abcdefghijkl'";
  sqlite3_stmt *statement, *count;
  sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
  sqlite3_prepare_v2(database, "UPDATE meta SET revision = revision + 1", -1, &count, NULL);
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (long i = 0; i < atol(argv[3]); i++) {
    if (writes) run("BEGIN IMMEDIATE");
    while (sqlite3_step(statement) == SQLITE_ROW) sqlite3_column_blob(statement, 2);
    sqlite3_reset(statement);
    if (!writes) continue;
    sqlite3_step(count);
    sqlite3_reset(count);
    run("COMMIT");
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("%.9f\n", to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9);
  return 0;
}
