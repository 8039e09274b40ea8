import BalloonPOSIX
import TestSupport

/// A server whose only business, `b-1`, has no handler: the server only records messages.
enum RecordingServer {
    /// Writes the server's configuration to `directory`; its data directory is the folder `data` there.
    static func configure(_ directory: TemporaryDirectory) throws {
        try Directory.make(directory.file("businesses"))
        let files = [
            "server.json":
                #"{"mspID":"msp","secret":{"file":"secret"},"listen":"127.0.0.1:1","dataDirectory":"data"}"#,
            "secret": "c2VjcmV0LXNlY3JldC1zZWNyZXQ=\n",
            "businesses/silent.json": #"{"businessID":"b-1","name":"Silent","handler":{"builtin":"none"}}"#,
        ]
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: directory.file(name)) }
    }

    /// Starts the server in `directory`; returns when the server accepts messages.
    static func start(in directory: TemporaryDirectory) async throws -> ServingCommand {
        try configure(directory)
        return try await ServingCommand(
            "serve --config server.json --listen 127.0.0.1:0 --data data", in: directory)
    }
}
