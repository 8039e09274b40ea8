import BalloonPOSIX
import HandlerKit
import MessageServer
import TestSupport

/// A test's own configuration on disk: the server's file and those of its businesses.
struct ConfigurationFiles {
    static let secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ="
    static let server = #"{"mspID":"msp","secret":{"env":"BALLOON_SECRET"}}"#
    static let demo = #"{"businessID":"b-1","name":"Demo","handler":{"builtin":"demo"}}"#

    let directory = TemporaryDirectory()

    init(server: String = server, businesses: [String: String] = ["demo": demo]) throws {
        try Directory.make(directory.file("businesses"))
        try write(server, to: "server.json")
        for (slug, text) in businesses { try write(text, to: "businesses/\(slug).json") }
    }

    func write(_ text: String, to name: String) throws {
        try AtomicFile.write(Array(text.utf8), to: directory.file(name))
    }

    func load(
        _ environment: [String: String] = ["BALLOON_SECRET": secret], handlers: [any HandlerFactory]? = nil
    ) throws(ConfigurationError) -> ServerConfiguration {
        try ConfigurationLoader.load(
            file: directory.file("server.json"), environment: environment, handlers: handlers)
    }

    /// The problems, one text each, with paths relative to the directory; none when it loads.
    func problems(
        _ environment: [String: String] = ["BALLOON_SECRET": secret], handlers: [any HandlerFactory]? = nil
    ) -> [String] {
        do {
            _ = try load(environment, handlers: handlers)
            return []
        } catch {
            return error.problems.map { problem in
                String(problem.description.split(separator: directory.path + "/").joined())
            }
        }
    }
}
