import BalloonPOSIX
import BusinessMessages
import Logging
import MessageServer
import MessageStore

/// Makes data directories with open requests.
enum RequestFiller {
    /// Opens `count` sign-ins of as many customers, 10,000 for each business; prints the time.
    static func fill(_ file: String, count: Int) async throws {
        let configuration = try ConfigurationLoader.load(file: file, environment: [:], handlers: nil)
        let store = try Store.open(
            StoreConfiguration(directory: configuration.dataDirectory), logger: Logger(label: "bench"))
        let began = ContinuousClock.now
        for start in stride(from: 0, to: count, by: 5000) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in start..<min(start + 5000, count) {
                    group.addTask { try await open(number, in: store.requests) }
                }
                try await group.waitForAll()
            }
        }
        let made = try await store.requests.count()
        await store.close()
        StandardStream.output.write("filled \(made) in \(began.duration(to: .now))\n")
    }

    private static func open(_ number: Int, in requests: OpenRequests) async throws {
        let entry = ReplyID(record: UInt64(number + 1), index: 0)
        _ = try await requests.request(of: entry) { now in
            var request = OpenRequest(
                .signIn, business: BusinessID("business-\(number / 10_000)"),
                customer: CustomerID("urn:mbid:AQAA\(number)"), requestIdentifier: "request-\(number)",
                entry: entry,
                payload: Array(
                    #"{"state":"\#(number)","verifier":"\#(number)","nonce":"\#(number)","redirectURI":"https://bench.example/auth/b/callback","scope":["openid"]}"#
                        .utf8),
                stateLifetime: .seconds(86_400), releaseLifetime: .seconds(120), at: now)
            request.accept(at: now)
            return ("state-\(number)", request)
        }
    }
}
