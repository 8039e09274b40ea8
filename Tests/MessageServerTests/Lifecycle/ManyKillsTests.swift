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

/// `kill -9` at moments that a seed chooses, repeatedly, while many customers write; `scripts/crash-test` is
/// the long form.
@Suite struct ManyKillsTests {
    @Test func `acknowledged messages survive a kill at any moment, and are delivered and answered once`()
        async throws
    {
        let variables = ProcessEnvironment.variables()
        let kills = variables["CRASH_TEST_KILLS"].flatMap(Int.init) ?? 4
        let seed = variables["CRASH_TEST_SEED"].flatMap(UInt64.init) ?? 1
        let restartable = try await RestartableServer()
        let crowd = Crowd(connections: 16)
        var random = SeededGenerator(seed: seed)
        var acceptances = 0
        var snapshots = 0
        /// After how many kills each reply was with the gateway.
        var firstKill: [MessageID: Int] = [:]
        for kill in 0..<kills {
            // These moments are among them, whatever the seed.
            let moment =
                switch kill {
                case 0: Moment.acceptance
                case 1: Moment.snapshot
                default: Moment(using: &random)
                }
            if case .acceptance = moment { acceptances += 1 }
            if case .snapshot = moment { snapshots += 1 }
            try await crowd.write(to: restartable, until: moment)
            for reply in restartable.gateway.messages() where firstKill[reply.id] == nil {
                firstKill[reply.id] = kill
            }
        }
        let server = try restartable.launch()
        try await server.waitForListening()
        try await crowd.insist(restartable, server)
        #expect(try await restartable.isFinished(), "some deliveries have not ended")
        await restartable.finish(server)
        let givenUp = try crowd.check(restartable, kills: kills)
        // A message that the gateway accepted without an answer arrived again: that kill was between both.
        let repeated = restartable.gateway.messages().count { $0.repeats > 0 }
        #expect(repeated >= acceptances)
        // Each life sends a reply at most once; one that arrived at a kill may have been counted behind it.
        for reply in restartable.gateway.messages() {
            let lives = kills - max(0, firstKill[reply.id, default: kills] - 1) + 1
            #expect(
                reply.repeats + 1 <= lives, "a reply was sent \(reply.repeats + 1) times by \(lives) lives")
        }
        let verified = try StoreVerification.run(dataDirectory: restartable.data) { Issue.record("\($0)") }
        #expect(verified.problems == 0)
        #expect(verified.comparedLines == verified.lines)
        print(
            "\(kills) kills, \(acceptances) of them between the gateway's acceptance and our record, "
                + "\(snapshots) at a stop with its snapshot (\(repeated) replies sent again); \(crowd.texts.count) messages, "
                + "\(givenUp) given up, \(verified.lines) lines compared with the journal")
    }
}

/// The moment of a kill: after this many answers to customers, or accepted messages at the gateway.
private enum Moment {
    case answers(Int)
    case replies(Int)
    /// The gateway has accepted a message and never answers.
    case acceptance
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
private final class Crowd: Sendable {
    private struct State {
        /// Every posted text, and whether it was acknowledged.
        var texts: [String: Bool] = [:]
        var answers = 0
        /// The last text of each connection that has not got a 200.
        var open: [Int: String] = [:]
    }

    private let state = Mutex(State())
    private let connections: Int
    private let customersPerConnection = 3

    init(connections: Int) { self.connections = connections }

    var texts: [String] { state.withLock { Array($0.texts.keys) } }

    /// Starts a server, writes to it on all connections, and kills it at the given moment.
    func write(to restartable: RestartableServer, until moment: Moment) async throws {
        let server = try restartable.launch()
        try await server.waitForListening()
        let taken = restartable.gateway.messages().count
        state.withLock { $0.answers = 0 }
        if case .acceptance = moment { restartable.gateway.misbehave(at: .message, .silence) }
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
            case .snapshot:
                _ = await restartable.gateway.waitForMessages(count: 20, after: taken)
                await server.kill(whileStopping: restartable.isWritingSnapshot)
            }
        }
        await server.kill()
    }

    /// Posts until the server has ended.
    private func write(
        on connection: Int, _ restartable: RestartableServer, _ server: ServerProcess, _ moment: Moment
    ) async {
        while let answers = try? await post(on: connection, restartable, server) {
            if case .answers(let last) = moment, answers == last { await server.kill() }
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
        // The same id every time, like Apple's repetitions.
        let message = customer.message(.text, id: MessageID("id-" + text), text: text)
        guard try await customer.post(message).status == 200 else { return 0 }
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
    /// Except texts whose handler was running at three kills (record 0019): one suspect runs at a time, so
    /// each kill from the third on may cost one. Returns their number.
    func check(_ restartable: RestartableServer, kills: Int) throws -> Int {
        let dead = try JournalFiles(dataDirectory: restartable.data).events { $0.isDeadLetter }
        #expect(
            dead.allSatisfy { $0.reason == "the process crashed three times during this delivery alone" })
        #expect(dead.count <= max(0, kills - 2))
        let givenUp = Set(dead.compactMap { $0.message["body"]?.string })
        var found: Set<String> = []
        let files = ConversationFiles(dataDirectory: restartable.data)
        for summary in try files.list() {
            var last = -1
            for line in try files.lines(of: summary.business, summary.customer) {
                guard line.direction == .inbound else {
                    #expect(line.outcome == "accepted")
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
        let replies = restartable.gateway.messages().compactMap { $0.message.root["body"]?.string }
        let answered = replies.compactMap { $0.split(separator: " ").last.map(String.init) }
        // The token of a second attempt would appear as a second message.
        #expect(answered.sorted() == texts.filter { !givenUp.contains($0) }.sorted())
        return dead.count
    }
}
