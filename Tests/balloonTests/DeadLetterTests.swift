import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Payments
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

@Suite struct DeadLetterTests {
    /// Creates a data directory with `count` dead letters.
    private func directory(count: Int = 1) async throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        for number in 0..<count {
            try await end(
                number == 0 ? "m" : "m\(number)", with: .failed(reason: "the handler threw Oops"), in: store)
        }
        await store.close()
        return directory
    }

    /// Stores a message, writes its conversation line, and finishes its delivery with `result`.
    private func end(
        _ id: String, of business: String = "b-1", at: Timestamp = .now(), as kind: Kind = .text,
        with result: DeliveryResult, in store: Store
    ) async throws {
        let business = BusinessID(business)
        let text =
            #"{"id":"\#(id)","v":1,"type":"text","body":"hello","sourceId":"c","destinationId":"\#(business)"}"#
        store.startRecording { try store.write($0, as: kind) }
        store.append(
            ReceivedMessage(
                business: business, customer: CustomerID("c"), id: MessageID(id), message: Array(text.utf8),
                receivedAt: at)
        ) { #expect($0 == .stored) }
        let delivery = try #require(await store.nextDelivery(for: business))
        try await store.finish(delivery, result: result)
    }

    @Test(arguments: [false, true])
    func `a pending message is dropped once, and a finished message is not dropped`(_ isServed: Bool)
        async throws
    {
        let directory = try await directory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        let message = ReceivedMessage(
            business: BusinessID("gone"), customer: CustomerID("c"), id: MessageID("p"),
            message: Array(#"{"id":"p","v":1,"type":"text","body":"hello"}"#.utf8))
        await withCheckedContinuation { stored in store.append(message) { _ in stored.resume() } }
        await store.close()
        let server = isServed ? try await RecordingServer.start(in: directory) : nil
        let shell = Shell(directory: directory.path)
        let pending = try await shell.run("balloon events list --status pending")
        let record = try #require(pending.output.split(separator: " ").first)
        #expect(try await shell.run("balloon events drop \(record)").output == "\(record) is dropped\n")
        #expect(
            try await shell.run("balloon events drop \(record)").output == "\(record) already dropped\n")
        let shown = try await shell.run("balloon events show \(record)")
        #expect(shown.output.contains(#""status":"dropped""#))
        #expect(shown.output.contains(#""reason":"dropped by an operator""#))
        let ended = try await shell.run("balloon events drop 2")
        #expect(ended.status != 0)
        #expect(ended.errors.contains("message 2 has ended"))
        #expect(try await shell.run("balloon deadletters list").output.hasPrefix("2  "))
        await server?.stop()
    }

    @Test func `a dead letter is listed, shown, retried and dropped without a server`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        let list = try await shell.run("balloon deadletters list")
        #expect(list.output.hasPrefix("2  "))
        #expect(list.output.hasSuffix("  failed  b-1  c  text: hello  (the handler threw Oops)\n"))
        #expect(try await shell.run("balloon deadletters list --kind form").output == "")
        #expect(try await shell.run("balloon deadletters list --status rejected").output == "")
        #expect(try await shell.run("balloon deadletters list --status failed").output == list.output)
        #expect(try await shell.run("balloon deadletters drop --all --status rejected").output == "")
        #expect(try await shell.run("balloon deadletters list --until 2001-01-01T00:00:00Z").output == "")
        let shown = try await shell.run("balloon deadletters show 2")
        #expect(shown.output.contains(#""reason":"the handler threw Oops","message":{"id":"m""#))
        let retried = try await shell.run("balloon deadletters retry 2 2")
        #expect(retried.output.hasPrefix("2 is retried as "), "\(retried.errors)")
        #expect(retried.output.split(separator: "\n").count == 1)
        #expect(try await shell.run("balloon deadletters list").output == "")
        let again = try await shell.run("balloon deadletters drop 2")
        #expect(again.status == 64)
        let unknown = try await shell.run("balloon events show 99")
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("no message has the record 99"))
        let events = try await shell.run("balloon events list --json --status retried")
        #expect(events.output.contains(#"{"record":2,"#))
    }

    @Test func `the broken rules of a refused answer are listed below its dead letter`() async throws {
        let directory = try await directory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        let problems = ["/replies/0/interactiveData/data/quick-reply/items", ""].map {
            #"{"rule":"quickReplyCount","pointer":"\#($0)","found":"1\u001b item","allowed":"2 to 5","passage":"p"}"#
        }
        try await end(
            "m1",
            with: .refused(
                RefusedAnswer(reason: "refused", problems: Array("[\(problems.joined(separator: ","))]".utf8))
            ),
            in: store)
        await store.close()
        let shell = Shell(directory: directory.path)
        let list = try await shell.run("balloon deadletters list")
        let lines = list.output.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[1].hasSuffix("(refused)"))
        #expect(
            lines[2].hasPrefix("    /replies/0/interactiveData/data/quick-reply/items: found 1"), "\(lines)")
        #expect(lines[2].hasSuffix(" item, allowed 2 to 5 (quickReplyCount)"))
        #expect(!list.output.contains("\u{1B}"))
        #expect(lines[3].hasPrefix("    /: found 1"))
        let json = try await shell.run("balloon deadletters list --json")
        #expect(json.output.split(separator: "\n").count == 2)
    }

    private static let attempts = ["a", "b"].map {
        PaymentAttempt.id(requestIdentifier: $0, encryptedData: [])
    }

    /// Adds two payments with one charge each that the handler did not reverse in time.
    private func addReversals(to directory: TemporaryDirectory) async throws {
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        let request = PaymentRequest(
            OutboundBubble("Repair"), total: .init("Shop", amount: "59.00"),
            lineItems: [.init("Repair", amount: "59.00")], currency: "EUR", country: "DE", networks: ["visa"])
        let session = try #require(IssuedSession(json: Array(#"{"expiresAt":1}"#.utf8)))
        for (number, id) in Self.attempts.enumerated() {
            var payment = Payment(
                currency: "EUR", total: "59.00", shippingMethod: nil, sheet: try PaymentSheet(request).json)
            _ = payment.begin(attempt: id, shippingMethod: nil, at: .now())
            _ = payment.settle(id, .misanswered(reference: nil), at: .now())
            payment.reverse(id, begunIn: 1, isConfirmed: false, isLast: true, at: .now())
            let payload = PaymentPayload(
                key: "k", session: session, message: MessageID("m"), request: request, payment: payment)
            _ = try await store.requests.request(of: ReplyID(record: UInt64(57 + number), index: 0)) { now in
                var open = OpenRequest(
                    .payment, business: BusinessID("b-1"), customer: CustomerID("c"),
                    requestIdentifier: "r-\(number)", entry: ReplyID(record: UInt64(57 + number), index: 0),
                    payload: [], stateLifetime: .seconds(60), releaseLifetime: .zero, at: now)
                open.set(payload)
                return ("r-\(number)", open)
            }
        }
        await store.close()
    }

    @Test(arguments: [false, true])
    func `a charge that was not reversed is listed, shown, retried and dropped`(_ isServed: Bool) async throws
    {
        let directory = TemporaryDirectory()
        try await addReversals(to: directory)
        let server = isServed ? try await RecordingServer.start(in: directory) : nil
        let shell = Shell(directory: directory.path)
        func run(_ command: String, status: Int32 = 0) async throws -> String {
            let result = try await shell.run("balloon deadletters " + command)
            #expect(result.status == status, "\(command): \(result.output) \(result.errors)")
            return status == 0 ? result.output : result.errors
        }
        let (first, second) = (Self.attempts[0], Self.attempts[1])
        let list = try await run("list").split(separator: "\n")
        #expect(
            list.count == 2 && list.allSatisfy { $0.contains("  unreversed  b-1  c  reversal: 59.00 EUR") })
        #expect(try await run("list --kind text") == "")
        #expect(try await run("show \(first)").contains(#""kind":"reversal""#))
        let unnamed = try await shell.run("balloon deadletters drop --all")
        #expect(unnamed.output == "" && unnamed.errors.contains("2 are dead letters"))
        #expect(try await run("list").split(separator: "\n").count == 2)
        #expect(try await run("drop \(first) --json").contains(#""kind":"reversal","status":"dropped""#))
        #expect(try await run("drop \(first)") == "\(first) already dropped\n")
        #expect(try await run("retry \(first)", status: 64).contains("is not a dead letter"))
        #expect(try await run("show \(first)", status: 64).contains("balloon deadletters list"))
        #expect(try await run("retry --all") == "\(second) is retried\n")
        #expect(try await run("retry \(second)") == "\(second) already retried\n")
        #expect(try await run("drop \(String(repeating: "0", count: 64))", status: 64).contains("not a dead"))
        #expect(try await run("list") == "")
        let states = try AttemptReversal.all(dataDirectory: directory.file("data")).reversals.map(
            \.attempt.state)
        #expect(Set(states) == [.dropped, .reversing])
        await server?.stop()
    }

    @Test func `a dropped dead letter stays in the journal and leaves every list`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        #expect(try await shell.run("balloon deadletters drop --all").output == "2 is dropped\n")
        #expect(try await shell.run("balloon deadletters list").output == "")
        #expect(try await shell.run("balloon events list --status dropped").output.hasPrefix("2  "))
    }

    @Test func `the results of dead letter commands are available as JSON`() async throws {
        let directory = try await directory(count: 2)
        let shell = Shell(directory: directory.path)
        let records = try await shell.run("balloon deadletters list").output.split(separator: "\n")
            .compactMap { $0.split(separator: " ").first }
        try #require(records.count == 2)
        let dropped = try await shell.run("balloon deadletters drop \(records[0]) --json")
        #expect(
            dropped.output == #"{"record":\#(records[0]),"status":"dropped"}"# + "\n", "\(dropped.errors)")
        let retried = try await shell.run("balloon deadletters retry \(records[1]) --json")
        let answer = try JSONDocument(Array(retried.output.utf8)).root
        #expect(answer["record"]?.text.elementsEqual(records[1].utf8) == true)
        #expect(answer["status"]?.string == "retried")
        #expect((answer["replay"]?.int ?? 0) > 0)
    }

    @Test(arguments: [false, true])
    func `retry, replay and drop use a running server, or change the data directory when none runs`(
        _ runs: Bool
    )
        async throws
    {
        let directory = try await directory(count: 3)
        let shell = Shell(directory: directory.path)
        let server = runs ? try await RecordingServer.start(in: directory) : nil
        let records = try await shell.run("balloon deadletters list").output.split(separator: "\n")
            .compactMap { $0.split(separator: " ").first }
        try #require(records.count == 3)
        let dropped = try await shell.run("balloon deadletters drop \(records[0])")
        #expect(dropped.output == "\(records[0]) is dropped\n", "\(dropped.errors)")
        let retried = try await shell.run("balloon deadletters retry \(records[1])")
        #expect(retried.output.hasPrefix("\(records[1]) is retried as "), "\(retried.errors)")
        let again = try await shell.run("balloon deadletters retry \(records[1])")
        #expect(
            again.output == retried.output.replacing("is retried", with: "already retried"), "\(again.errors)"
        )
        #expect(again.status == 0)
        let replayed = try await shell.run("balloon events replay \(records[2]) --send")
        #expect(replayed.errors.hasPrefix("delivered again as "), "\(replayed.errors)")
        #expect(try await shell.run("balloon deadletters list").output == "")
        let droppedAgain = try await shell.run("balloon deadletters drop \(records[0])")
        #expect(droppedAgain.output == "\(records[0]) already dropped\n")
        #expect(droppedAgain.status == 0)
        #expect(try await shell.run("balloon deadletters drop \(records[1])").status == 64)
        let status = runs ? "unhandled" : "pending"
        // The server delivers replayed messages asynchronously.
        _ = try await shell.run("balloon events list --status \(status)") { $0.lineCount == 2 }
        await server?.stop()
        let events = try await shell.run("balloon events list").output.split(separator: "\n")
        #expect(events.count == 5)
        #expect(events.count { $0.contains("  \(status)  ") } == 2)
        #expect(events.count { $0.contains("  dropped  ") } == 1)
    }

    @Test(arguments: [
        ("--business b-1", ["failed", "handled"]), ("--business b-2", ["rejected"]),
        ("--kind form", ["rejected"]), ("--kind text --business b-1", ["failed", "handled"]),
        ("--status rejected", ["rejected"]), ("--status handled", ["handled"]),
        ("--since 2026-11-21T12:00:00Z", ["rejected", "handled"]),
        ("--until 2026-11-21T12:00:00Z", ["failed"]),
        ("--since 2026-11-21T12:00:00Z --until 2026-11-21T13:00:00Z", ["rejected"]),
        ("--business b-1 --status rejected", []), ("", ["failed", "rejected", "handled"]),
    ])
    func `events and dead letters are filtered by business, kind, time and status, as text and as JSON`(
        _ filter: String, _ expected: [String]
    ) async throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        let events: [(id: String, business: String, hour: Int, kind: Kind, result: DeliveryResult)] = [
            ("failed", "b-1", 11, .text, .failed(reason: "no")),
            ("rejected", "b-2", 12, .form, .rejected(reason: "no")), ("handled", "b-1", 13, .text, .handled),
        ]
        for event in events {
            let at = try #require(Timestamp(rfc3339: "2026-11-21T\(event.hour):00:00Z"))
            try await end(
                event.id, of: event.business, at: at, as: event.kind, with: event.result, in: store)
        }
        await store.close()
        let shell = Shell(directory: directory.path)
        for (list, expected) in [
            ("events", expected), ("deadletters", expected.filter { $0 != "handled" }),
        ] {
            let json = try await shell.run("balloon \(list) list \(filter) --json")
            let ids = try json.output.split(separator: "\n").map {
                try JSONDocument(Array($0.utf8)).root["id"]?.string
            }
            #expect(ids == expected, "\(list) \(json.errors)")
            let text = try await shell.run("balloon \(list) list \(filter)")
            #expect(text.output.split(separator: "\n").count == expected.count)
        }
    }

    @Test func `events list --kind finds a pending message by the kind that the list shows`() async throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        store.startRecording { try store.write($0, as: .text) }
        for id in ["parked", "pending"] {
            store.append(
                ReceivedMessage(
                    business: BusinessID("b-1"), customer: CustomerID(id), id: MessageID(id),
                    message: Array(#"{"id":"\#(id)","v":1,"type":"text","body":"hello"}"#.utf8))
            ) { #expect($0 == .stored) }
            let delivery = try #require(await store.nextDelivery(for: BusinessID("b-1")))
            store.postpone(delivery, after: .seconds(3600), parks: id == "parked")
        }
        await store.close()
        let shell = Shell(directory: directory.path)
        let all = try await shell.run("balloon events list").output
        #expect(all.split(separator: "\n").map { $0.contains("  text: hello") } == [true, true])
        #expect(all.contains("  parked  ") && all.contains("  pending  "))
        #expect(try await shell.run("balloon events list --kind text").output == all)
        #expect(try await shell.run("balloon events list --kind form").output == "")
    }

    @Test(arguments: [true, false])
    func `a list from a truncated journal is reported as incomplete`(_ isInsideLine: Bool) async throws {
        let directory = TemporaryDirectory()
        var configuration = StoreConfiguration(directory: directory.file("data"))
        configuration.maximumSegmentAge = .zero
        let store = try Store.open(configuration, logger: LogCollector().logger)
        for id in ["1", "2", "3"] { try await end(id, with: .failed(reason: "no"), in: store) }
        await store.close()
        let shell = Shell(directory: directory.path)
        for list in ["events list", "deadletters list"] {
            let sound = try await shell.run("balloon \(list)")
            #expect(sound.status == 0 && sound.output.split(separator: "\n").count == 3, "\(sound.errors)")
        }
        let journal = directory.file("data/journal")
        let segments = try Directory.names(in: journal).sorted()
        try #require(segments.count > 2)
        try cut(journal + "/" + segments[segments.count - 1], isInsideLine: isInsideLine)
        #expect(try await shell.run("balloon events list").status == 0)
        try cut(journal + "/" + segments[0], isInsideLine: isInsideLine)
        #expect(try await shell.run("balloon conversations verify").status == 65)
        // A segment that ends after a line looks like one whose next segment is missing.
        let damaged = isInsideLine ? segments[0] : "000000000002.jsonl"
        for list in ["events list", "deadletters list --json", "deadletters drop --all"] {
            let result = try await shell.run("balloon \(list)")
            #expect(result.status == 65, "\(list)")
            #expect(result.errors.contains("\(damaged) is damaged"), "\(list)")
            // Lists show the undamaged records; commands that would change them fail.
            #expect(result.output.isEmpty == list.contains("drop"), "\(list)")
        }
    }

    /// Removes the last line of a file, or only the end of that line.
    private func cut(_ path: String, isInsideLine: Bool) throws {
        let bytes = try File(path, for: .reading).readAll()
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        let last = try #require(lines.last)
        let kept = isInsideLine ? last.startIndex + last.count / 2 : last.startIndex
        try AtomicFile.write(Array(bytes[..<kept]), to: path)
    }

    /// A request that named 35,000 messages, and its answer over the socket, would have more than 1 MiB.
    @Test(.timeLimit(.minutes(10)), arguments: [(false, 1000), (true, 35_000)])
    func `all dead letters are retried, and those of one kind dropped, by one command each`(
        _ isServed: Bool, count: Int
    ) async throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        store.startRecording {
            try store.write($0, as: $0.id.rawValue.hasPrefix("typing") ? .typingStart : .text)
        }
        let business = BusinessID("b-1")
        for start in stride(from: 0, to: count + 10, by: 1000) {
            let numbers = start..<min(start + 1000, count + 10)
            for number in numbers {
                let id = number < count ? "m\(number)" : "typing\(number)"
                store.append(
                    ReceivedMessage(
                        business: business, customer: CustomerID("c\(number % 100)"), id: MessageID(id),
                        message: Array(#"{"id":"\#(id)","v":1,"type":"text","body":"hello"}"#.utf8)),
                    isPrompt: false
                ) { #expect($0 == .stored) }
            }
            store.beginWriting()
            // One delivery of each of the 100 customers at a time, so that one sync of the disk is for all of them.
            for _ in stride(from: 0, to: numbers.count, by: 100) {
                try await withThrowingTaskGroup { group in
                    for _ in 0..<min(100, numbers.count) {
                        let delivery = try #require(await store.nextDelivery(for: business))
                        group.addTask {
                            try await store.finish(
                                delivery, result: .failed(reason: "the handler threw Oops"))
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
        await store.close()
        let server = isServed ? try await RecordingServer.start(in: directory) : nil
        let shell = Shell(directory: directory.path)
        let dropped = try await shell.run("balloon deadletters drop --all --kind typingStart")
        #expect(dropped.status == 0, "\(dropped.errors)")
        #expect(dropped.lineCount == 10)
        let retried = try await shell.run("balloon deadletters retry --all | tee out | tail -n 1")
        #expect(retried.output.contains(" is retried as "), "\(retried.errors)")
        #expect(try await shell.run("wc -l < out").output == "\(count)\n")
        #expect(try await shell.run("balloon deadletters list").output == "")
        await server?.stop()
    }

    @Test func `a replay uses a running server, and is a dry run without --send`()
        async throws
    {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let server = try await RecordingServer.start(in: directory)
        _ = try await shell.run("balloon simulate text --config server.json --to http://\(server.address)")
        // The server answers 200 before the delivery has ended, so wait for its end.
        _ = try await shell.run("balloon events list --status unhandled") { $0.lineCount == 1 }
        let dry = try await shell.run("balloon events replay --status unhandled")
        #expect(dry.errors == "1 would be delivered again; add --send to do it\n")
        let sent = try await shell.run("balloon events replay --status unhandled --send")
        #expect(sent.errors.hasPrefix("delivered again as "), "\(sent.errors)")
        let wrong = try await shell.run("balloon events replay 1 --send")
        #expect(wrong.status == 64)
        _ = try await shell.run("balloon events list --status unhandled") { $0.lineCount == 2 }
        await server.stop()
        let events = try await shell.run("balloon events list --status unhandled")
        #expect(events.output.split(separator: "\n").count == 2)
        #expect(try await shell.run("balloon conversations list").output.contains("  1  b-1  "))
    }
}
