import BalloonPOSIX
import TestSupport
import Testing

/// A server of one business, `b-1`, that only records.
struct RecordingServer {
    let running: RunningCommand
    /// Where it takes messages.
    let address: String

    /// Writes its configuration, with the data in `data`.
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

    /// Starts it in a directory; returns when it takes messages.
    init(in directory: TemporaryDirectory) async throws {
        try Self.configure(directory)
        running = try Shell(directory: directory.path).start(
            "exec balloon serve --config server.json --listen 127.0.0.1:0 --data data 2>log")
        let output = try #require(await running.output(until: "listening on 127.0.0.1:"))
        address = String(output.dropFirst("listening on ".count).dropLast())
    }

    /// Ends it in good order.
    func stop() async {
        running.terminate()
        #expect(await running.wait() == 0)
    }
}
