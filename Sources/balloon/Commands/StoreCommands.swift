import ArgumentParser
import BalloonPOSIX
import MessageServer
import MessageStore
import Replication

/// `balloon store …`: prepares a PostgreSQL database that keeps the data directory.
struct StoreCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Prepare a PostgreSQL database as the store.",
        subcommands: [Migrate.self, Copy.self, Status.self, Reseal.self])

    /// `balloon store status`: lists the servers.
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the servers of the store, and which of them has it.")

        @Option(help: .value("file", "The server's configuration file."))
        var config: String

        func run() async throws {
            let url = try settings(in: config).url
            for member in try Replica.list(url) {
                let time = "\(member.secondsSinceSeen) s ago"
                let state =
                    switch (member.isOwner, member.secondsSinceSeen) {
                    case (true, _): "has the store, said so \(time)"
                    // It is overdue for the third time.
                    case (false, 90...): "stopped or far behind, had every change \(time)"
                    case (false, _): "follows, had every change \(time)"
                    }
                StandardStream.output.write(
                    "\(terminalText(member.host)) \(member.id.prefix(8)): \(state)\n")
            }
            let taken = try Replica.takenMessages(url)
            StandardStream.output.write("\(taken.waiting) messages wait for an owner\n")
            if taken.refused > 0 {
                StandardStream.output.write(
                    "\(taken.refused) messages were refused, or could not be read, which the owner's log says\n"
                )
            }
        }
    }

    /// `balloon store reseal`: seals what the present key has not sealed.
    struct Reseal: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Seal what is in the database with the present \"sealKey\", or unseal it when there is none.",
            discussion:
                "Running servers go on when each has the present key and the other one as \"otherSealKey\".")

        @Option(help: .value("file", "The server's configuration file."))
        var config: String

        func run() async throws {
            let count = try Replica.reseal(try settings(in: config))
            StandardStream.output.write("changed \(count) pieces\n")
        }
    }

    /// `balloon store migrate`: creates the tables.
    struct Migrate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create the tables of the store in the database, or add what a newer program needs.",
            discussion: """
                Needs the right to create a schema, which the server does not: it needs SELECT, INSERT, UPDATE and DELETE on the \
                tables of the schema balloon. Running servers go on.
                """)

        @Option(help: .value("file", "The server's configuration file."))
        var config: String

        func run() async throws {
            try Replica.migrate(try settings(in: config).url)
            StandardStream.output.write("the tables are there\n")
        }
    }

    /// `balloon store copy`: fills an empty database from a data directory.
    struct Copy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy a data directory that no server has open into an empty database.",
            discussion: """
                An interrupted copy begins anew. Afterwards the directory is a copy of the database's store, and any number of \
                servers with empty directories can join.
                """)

        @Option(help: .value("file", "The server's configuration file."))
        var config: String

        @Option(help: .value("dir", "The data directory, instead of the configured one."))
        var data: String?

        func run() async throws {
            let settings = try settings(in: config)
            let data = try DataOptions.directory(self.data, config: config)
            try Store.check(data)
            try StoreChange.actAsOwner(of: data)
            guard let lock = try Store.lockDirectory(data) else {
                throw StoreError.inUse(path: data, process: nil)
            }
            let logger = try LogOptions.start()
            let files = try await Replica(settings, directory: data, logger: logger).fill()
            StandardStream.output.write("copied \(files) files\n")
            withExtendedLifetime(lock) {}
        }
    }
}

/// The database that the server's file names.
private func settings(in file: String) throws -> ReplicaSettings {
    guard
        let settings = try ConfigurationLoader.postgres(
            file: file, environment: ProcessEnvironment.variables())
    else {
        throw ValidationError("\(terminalText(file)) has no \"postgres\" in \"store\".")
    }
    return settings
}
