/// The tables of a store in PostgreSQL, all in the schema `balloon`.
///
/// | table | |
/// |---|---|
/// | `version` | one row: the number of the last migration, and the oldest program that may write, as such a number |
/// | `store` | one row: the identity of the store |
/// | `owner` | one row: who may write (empty for nobody), and how often that has changed, which is the fence; `intake` is that number when that server reads the table of this name, and `serves` whether it does at present |
/// | `term` | each owner's epoch, a random id, and the last change before it; see ``ReplicaTerm`` |
/// | `replica` | the servers that joined: `beat` is raised by the owner while it lives, `number` is the last change that a follower has |
/// | `file` | the files of the data directory; `size` is -1 for a removed one; `version` names its pieces, `began` is the change with which this version began to count, `number` the last change |
/// | `piece` | their content; pieces of another version and behind the size do not count |
/// | `intake` | the messages that other servers took and that the owner has not read, in the order of `number`; `key` is random, and `refused` says that the owner does not store it; see ``Intake`` |
enum ReplicaSchema {
    /// The migrations, each in a transaction of its own; they only add.
    private static let migrations = [
        """
        CREATE TABLE balloon.store (id text PRIMARY KEY);
        INSERT INTO balloon.store VALUES (replace(gen_random_uuid()::text, '-', ''));
        CREATE TABLE balloon.owner (epoch bigint PRIMARY KEY, replica text NOT NULL);
        INSERT INTO balloon.owner VALUES (0, '');
        CREATE TABLE balloon.replica (
            id text PRIMARY KEY, host text NOT NULL, beat bigint NOT NULL, number bigint NOT NULL,
            seen timestamptz NOT NULL);
        CREATE TABLE balloon.file (
            path text COLLATE "C" PRIMARY KEY, size bigint NOT NULL, version bigint NOT NULL, began bigint NOT NULL,
            number bigint NOT NULL);
        CREATE INDEX ON balloon.file (number, path);
        CREATE TABLE balloon.piece (
            path text COLLATE "C", version bigint, at bigint, content bytea NOT NULL, PRIMARY KEY (path, version, at));
        ALTER TABLE balloon.piece ALTER content SET STORAGE EXTERNAL;
        """,
        """
        CREATE TABLE balloon.intake (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key bigint NOT NULL UNIQUE, content bytea NOT NULL,
            refused boolean NOT NULL DEFAULT false);
        ALTER TABLE balloon.intake ALTER content SET STORAGE EXTERNAL;
        ALTER TABLE balloon.owner ADD intake bigint NOT NULL DEFAULT -1, ADD serves boolean NOT NULL DEFAULT false;
        \(grants(on: "intake"))
        """,
        """
        CREATE TABLE balloon.term (epoch bigint PRIMARY KEY, id text NOT NULL UNIQUE, after bigint NOT NULL);
        \(grants(on: "term"))
        """,
    ]

    /// Gives the roles of the servers their rights on a new table.
    private static func grants(on table: String) -> String {
        """
        DO $$ DECLARE role text; BEGIN
            FOR role IN SELECT grantee FROM information_schema.role_table_grants
                WHERE table_schema = 'balloon' AND table_name = 'piece' AND privilege_type = 'INSERT' AND grantee <> 'PUBLIC'
            LOOP EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON balloon.\(table) TO %I', role); END LOOP;
        END $$;
        """
    }

    /// Creates the tables or adds what is missing; needs the rights to create them, which a server does not.
    static func migrate(_ connection: PostgresConnection) throws(PostgresError) {
        try connection.runAll(
            """
            SET lock_timeout = '1s';
            CREATE SCHEMA IF NOT EXISTS balloon;
            CREATE TABLE IF NOT EXISTS balloon.version (number bigint NOT NULL, writer bigint NOT NULL);
            INSERT INTO balloon.version SELECT 0, 0 WHERE NOT EXISTS (SELECT FROM balloon.version);
            """)
        for (index, migration) in migrations.enumerated() where try number(connection) == index {
            try connection.runAll(
                """
                BEGIN;
                LOCK balloon.version;
                \(migration)
                UPDATE balloon.version SET number = \(index + 1), writer = 1;
                COMMIT;
                """)
        }
    }

    /// Throws unless this program may write the tables.
    static func check(_ connection: PostgresConnection) throws(PostgresError) {
        let advice = "run balloon store migrate"
        let found = try connection.run("SELECT to_regclass('balloon.version')::text")
        guard found.first?[0].text == "balloon.version" else {
            throw .refused("", "the database has no tables of Balloon; \(advice)")
        }
        let rows = try connection.run("SELECT number, writer FROM balloon.version")
        guard let row = rows.first, row[0].number >= migrations.count else {
            throw .refused("", "the database's tables are older than this program; \(advice)")
        }
        guard row[1].number <= migrations.count else {
            throw .refused("", "the database's tables are newer than this program; update it")
        }
    }

    private static func number(_ connection: PostgresConnection) throws(PostgresError) -> Int64 {
        try connection.run("SELECT number FROM balloon.version").first?[0].number ?? 0
    }
}
