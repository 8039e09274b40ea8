import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Glibc
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

/// Followers that are cut at any byte while the server is killed; `EVENT_TEST_CUTS` and `EVENT_TEST_FOLLOWERS` are the long form.
@Suite struct EventKillTests {
    /// Where the current process listens; nil while none does.
    private final class Place: Sendable {
        private let state = Mutex<(address: String?, lines: Int?)>((nil, nil))

        var address: String? {
            get { state.withLock { $0.address } }
            set { state.withLock { $0.address = newValue } }
        }

        /// The number of lines of all conversations, once no process writes any more.
        var lines: Int? {
            get { state.withLock { $0.lines } }
            set { state.withLock { $0.lines = newValue } }
        }
    }

    /// The events of one follower.
    private struct Seen {
        var keys: Set<String> = []
        /// The text of each event, to compare repetitions.
        var texts: [String: [UInt8]] = [:]
        /// The numbers of the lines of each conversation, in the order of their first arrival.
        var lines: [String: [Int]] = [:]
        var changed: [String] = []

        var lineCount: Int { lines.values.reduce(0) { $0 + $1.count } }

        mutating func add(_ event: EventFollower.Event) {
            if event.name == "stream.reset" { changed.append("stream.reset") }
            guard let key = event.key else { return }
            let text = Array(event.data.text)
            guard keys.insert(key).inserted else {
                if texts[key] != text { changed.append(key) }
                return
            }
            texts[key] = text
            guard event.data["line"] != nil, let conversation = event.data["conversation"]?.string,
                let sequence = event.data["seq"]?.int
            else { return }
            lines[conversation, default: []].append(sequence)
        }
    }

    @Test func `followers that are cut at any byte over two kills see what the journal has`() async throws {
        let variables = ProcessEnvironment.variables()
        let cuts = variables["EVENT_TEST_CUTS"].flatMap(Int.init) ?? 25
        let followers = variables["EVENT_TEST_FOLLOWERS"].flatMap(Int.init) ?? 4
        let token = "bln_follower"
        let restartable = try await RestartableServer(
            apiToken: Hex.encode(SHA256.hash(Array(token.utf8))))
        let crowd = Crowd(connections: 4)
        let place = Place()
        async let all = withThrowingTaskGroup(of: (Seen, Int).self) { group in
            for number in 0..<followers {
                group.addTask {
                    try await onThread { try follow(place, token, seed: UInt64(number), cuts: cuts) }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for _ in 0..<2 {
            let server = try restartable.launch()
            try await server.waitForListening()
            place.address = try await server.adminAddress()
            try await crowd.write(to: restartable, server) {
                #expect(await crowd.waitForAnswers(100))
                place.address = nil
                await server.kill()
            }
        }
        let server = try restartable.launch()
        try await server.waitForListening()
        place.address = try await server.adminAddress()
        try await crowd.insist(restartable, server)
        #expect(try await restartable.isFinished(), "some deliveries have not ended")
        let address = try #require(place.address)
        // Their events may come later, because the server reads the journal for its followers every 50 ms.
        let files = ConversationFiles(dataDirectory: restartable.data)
        let count = try files.list().reduce(0) { try $0 + files.lines(of: $1.business, $1.customer).count }
        place.lines = count
        let results = try await all
        let expected = try await onThread {
            var seen = Seen()
            try finish(&seen, address, token, after: "0", count)
            return seen
        }
        await restartable.finish(server)
        let incomplete = expected.lines.values.filter { $0 != Array(1...$0.count) }
        #expect(incomplete.isEmpty, "a line has no event")
        #expect(expected.keys.count > 400)
        for (seen, cutCount) in results {
            #expect(cutCount >= cuts)
            #expect(seen.keys == expected.keys, "\(expected.keys.subtracting(seen.keys).sorted().prefix(9))")
            #expect(seen.lines == expected.lines, "events of a conversation are out of order")
            #expect(seen.changed.isEmpty, "an event was repeated differently: \(seen.changed.prefix(9))")
        }
    }

    /// Reads from a place through the event of the last line.
    ///
    /// The server refuses a follower while too many wait to read the journal, and disconnects one that reads slowly, so
    /// this resumes.
    private func finish(
        _ seen: inout Seen, _ address: String, _ token: String, after start: String, _ count: Int
    ) throws {
        var lastID = start
        let limit = ContinuousClock.now + .seconds(120)
        while seen.lineCount < count {
            try #require(ContinuousClock.now < limit, "\(seen.lineCount) of \(count) lines have an event")
            let follower = try EventFollower(address, token: token, lastID: lastID)
            while seen.lineCount < count, let events = try follower.next() {
                for event in events { seen.add(event) }
            }
            if follower.lastID == lastID { poll(nil, 0, 5) }
            lastID = follower.lastID ?? lastID
        }
    }
}

extension EventKillTests {
    /// Follows through all processes; each connection is cut behind a random number of bytes until there were enough cuts.
    private func follow(_ place: Place, _ token: String, seed: UInt64, cuts: Int) throws -> (Seen, Int) {
        var random = SeededGenerator(seed: seed)
        var seen = Seen()
        var lastID = "0"
        var cutCount = 0
        while true {
            guard let address = place.address else {
                poll(nil, 0, 5)
                continue
            }
            if let count = place.lines, cutCount >= cuts {
                try finish(&seen, address, token, after: lastID, count)
                return (seen, cutCount)
            }
            // A killed server refuses or resets; the follower connects to the next process.
            guard let follower = try? EventFollower(address, token: token, lastID: lastID) else {
                poll(nil, 0, 5)
                continue
            }
            var rest = Int.random(in: 1...60_000, using: &random)
            while rest > 0 {
                let part = min(rest, Int.random(in: 1...4096, using: &random))
                guard let events = try? follower.next(maximum: part) else { break }
                for event in events { seen.add(event) }
                rest -= part
                // Without further events it would wait for a comment.
                if place.lines != nil { break }
            }
            lastID = follower.lastID ?? lastID
            cutCount += 1
        }
    }
}
