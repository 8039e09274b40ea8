import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

/// The moment of a kill: after this many answers to customers, or accepted messages at the gateway.
enum Moment {
    case answers(Int)
    case replies(Int)
    /// The gateway has accepted a message and never answers.
    case acceptance
    /// A customer sees that somebody types, and has not got the message behind it.
    case indicator
    /// The server stops, and is writing its last checkpoint and snapshot.
    case snapshot

    init(using random: inout SeededGenerator) {
        self =
            switch UInt64.random(in: 0..<4, using: &random) {
            case 0: .answers(Int.random(in: 1...150, using: &random))
            case 1: .replies(Int.random(in: 1...100, using: &random))
            case 2: .snapshot
            default: .acceptance
            }
    }
}

/// Customers who write on separate connections, and repeat unacknowledged messages.
final class Crowd: Sendable {
    private struct State {
        /// Every posted text, and whether it was acknowledged.
        var texts: [String: Bool] = [:]
        var answers = 0
        /// Answers other than 200.
        var refusals = 0
        var isOver = false
        /// The last text of each connection that has not got a 200.
        var open: [Int: String] = [:]
    }

    private let state = Mutex(State())
    private let connections: Int
    private let customersPerConnection = 3
    /// The maximum number of acknowledged texts of one process.
    ///
    /// Without it, a machine that is slow to send replies would get a backlog that takes minutes.
    private static let maximumAnswers = 300

    init(connections: Int) { self.connections = connections }

    var texts: [String] { state.withLock { Array($0.texts.keys) } }

    /// Waits for this many more acknowledged texts; false after ``WaitLimit``.
    func waitForAnswers(_ count: Int) async -> Bool {
        let before = state.withLock { $0.answers }
        return await eventually { state.withLock { $0.answers } >= before + count }
    }

    /// Waits for this many more refusals; false after ``WaitLimit``.
    func waitForRefusals(_ count: Int) async -> Bool {
        let before = state.withLock { $0.refusals }
        return await eventually { state.withLock { $0.refusals } >= before + count }
    }

    /// Writes to the server on all connections until `body` has returned, and at most until the server has ended.
    func write(
        to restartable: RestartableServer, _ server: ServerProcess, during body: () async throws -> Void
    ) async throws {
        state.withLock { $0.isOver = false }
        try await withThrowingTaskGroup { group in
            for connection in 0..<connections {
                group.addTask {
                    while !self.state.withLock({ $0.isOver }),
                        (try? await self.post(on: connection, restartable, server)) != nil
                    {}
                }
            }
            defer { state.withLock { $0.isOver = true } }
            try await body()
        }
    }

    /// Starts a server, writes to it on all connections, and kills it at the given moment.
    func write(to restartable: RestartableServer, until moment: Moment) async throws {
        // Set before the start, which sends the replies of the earlier process: the gateway never answers the first.
        if case .acceptance = moment { restartable.gateway.misbehave(at: .message, .silence) }
        let taken = restartable.gateway.messages().count
        let server = try restartable.launch()
        try await server.waitForListening()
        state.withLock { $0.answers = 0 }
        await withTaskGroup { group in
            for connection in 0..<connections {
                group.addTask { await self.write(on: connection, restartable, server, moment) }
            }
            switch moment {
            case .answers: break
            case .replies(let count):
                _ = await restartable.gateway.waitForMessages(count: count, after: taken)
                await server.kill()
            case .acceptance:
                _ = await restartable.gateway.waitForMessages(after: taken)
                await server.kill()
            case .indicator:
                #expect(
                    await eventually {
                        restartable.gateway.messages().dropFirst(taken).contains { Self.isTyping($0) }
                    })
                await server.kill()
            case .snapshot:
                _ = await restartable.gateway.waitForMessages(count: 20, after: taken)
                await server.kill(whileStopping: restartable.isWritingSnapshot)
            }
        }
        await server.kill()
    }

    /// Posts until the server has ended; pauses when enough texts are acknowledged.
    private func write(
        on connection: Int, _ restartable: RestartableServer, _ server: ServerProcess, _ moment: Moment
    ) async {
        while let answers = try? await post(on: connection, restartable, server) {
            if case .answers(let last) = moment, answers == last { await server.kill() }
            guard answers < Self.maximumAnswers else {
                _ = await server.status()
                return
            }
        }
    }

    /// Posts unacknowledged or new texts; returns the number of answers of this process.
    private func post(on connection: Int, _ restartable: RestartableServer, _ server: ServerProcess)
        async throws -> Int
    {
        let text = state.withLock { state -> String in
            if let open = state.open[connection] { return open }
            let text = "\(connection)-\(state.texts.count)"
            state.texts[text] = false
            state.open[connection] = text
            return text
        }
        let customer = restartable.customer(server, id: customer(of: text, on: connection))
        // Every attempt has the same id, like Apple's repetitions.
        let message = customer.message(.text, id: MessageID("id-" + text), text: text)
        guard try await customer.post(message).status == 200 else {
            state.withLock { $0.refusals += 1 }
            return 0
        }
        return state.withLock { state in
            state.texts[text] = true
            state.open[connection] = nil
            state.answers += 1
            return state.answers
        }
    }

    /// Repeats unacknowledged texts until they are acknowledged.
    func insist(_ restartable: RestartableServer, _ server: ServerProcess) async throws {
        while let connection = state.withLock({ $0.open.keys.first }) {
            _ = try await post(on: connection, restartable, server)
        }
    }

    private func customer(of text: String, on connection: Int) -> CustomerID {
        let number = text.split(separator: "-").last.flatMap { Int($0) } ?? 0
        return CustomerID("urn:mbid:\(connection)-\(number % customersPerConnection)")
    }

    /// Checks that every text is in its conversation once, in sending order, and answered by one attempt
    /// only.
    ///
    /// Texts whose handler was running at three kills become dead letters instead (decision 0019): one suspect runs
    /// at a time, so each kill from the third on may cost one text. Returns the number of these texts. A reply
    /// expires when the wall clock jumps beyond its lifetime: with `mayExpire`, such a dead letter counts as an
    /// answer.
    @discardableResult
    func check(_ restartable: RestartableServer, kills: Int, mayExpire: Bool = false) throws -> Int {
        let dead = try JournalFiles(dataDirectory: restartable.data).events { $0.isDeadLetter }
        #expect(
            dead.allSatisfy { $0.reason == "the process crashed three times during this delivery alone" })
        #expect(dead.count <= max(0, kills - 2))
        let givenUp = Set(dead.compactMap { $0.message["body"]?.string })
        var expired: Set<String> = []
        var found: Set<String> = []
        let files = ConversationFiles(dataDirectory: restartable.data)
        for summary in try files.list() {
            var last = -1
            for line in try files.lines(of: summary.business, summary.customer) {
                guard line.direction == .inbound else {
                    if mayExpire, line.outcome == "expired" {
                        expired.insert(try #require(Self.answered(by: line.message)))
                    } else {
                        #expect(line.outcome == "accepted")
                    }
                    continue
                }
                let text = try #require(line.message["body"]?.string)
                let number = try #require(text.split(separator: "-").last.flatMap { Int($0) })
                #expect(found.insert(text).inserted, "twice in its conversation: \(text)")
                #expect(number > last, "out of order: \(text)")
                last = number
            }
            #expect(try restartable.endsWithLineFeed(summary))
        }
        #expect(found == Set(texts))
        let answered = restartable.gateway.messages().compactMap { Self.answered(by: $0.message.root) }
        // Each attempt puts another token into its reply, so a second attempt would appear as a second message.
        #expect(Set(answered).count == answered.count)
        #expect(Set(answered).union(expired) == Set(texts).subtracting(givenUp))
        return dead.count
    }

    /// Checks that the replies to each customer have reached the gateway in the order of the texts.
    func checkOrder(_ messages: [DeliveredMessage]) {
        var last: [CustomerID: Int] = [:]
        for message in messages {
            guard let text = Self.answered(by: message.message.root),
                let number = text.split(separator: "-").last.flatMap({ Int($0) })
            else { continue }
            #expect(number > last[message.customer] ?? -1, "out of order at the gateway: \(text)")
            last[message.customer] = number
        }
    }

    static func isTyping(_ message: DeliveredMessage) -> Bool {
        message.message.root["type"]?.string == "typing_start"
    }

    /// The text that a reply of `CrashTestServer` answers.
    private static func answered(by reply: JSONValue) -> String? {
        reply["body"]?.string?.split(separator: " ").last.map(String.init)
    }
}
