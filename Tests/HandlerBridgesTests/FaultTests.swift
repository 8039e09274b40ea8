import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// Every fault of a child process, and the server's reaction.
struct FaultTests {
    /// For each fault, the number of the attempt whose answer reaches the customer.
    private static let survivors: [(fault: String, attempt: Int)] = [
        ("noise", 1), ("unknown", 1), ("duplicate", 1), ("half", 2), ("exit", 2), ("late", 2),
        ("refusing", 2),
    ]

    @Test(arguments: survivors)
    func `a fault of the handler costs at most one attempt, and the customer gets one answer`(
        _ fault: String, _ attempt: Int
    ) async throws {
        // Only this fault reaches the deadline: "late" answers after its cancel.
        let server = try await faultyServer(fault, deadline: fault == "late" ? .seconds(1) : .seconds(60))
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.stages.first { $0.stage == .finish }
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        let texts = replies.compactMap { $0.message.root["body"]?.string }
        // On a busy machine the answer may come from a later attempt than `attempt`.
        #expect(texts.count == 1)
        let words = try #require(texts.first).split(separator: " ")
        #expect(words.first == Substring(fault))
        #expect(try #require(words.last.flatMap { Int($0) }) >= attempt)
        if fault == "noise" {
            #expect(try await server.logTail().contains { $0.hasPrefix("[warning] no protocol message: ") })
        }
        if fault == "refusing" {
            // The error message is in `handlers logs` but not in the log, because it may quote a customer.
            #expect(
                try await server.logTail().contains { $0.hasSuffix("answered with error -32004: busy") })
            #expect(!server.log.lines.contains { $0.contains("-32004: busy") })
        }
        await server.stop()
    }

    private static let refusals = [
        ("malformed", "/outcome"), ("unknownMember", "/reply"), ("refusedReply", "/replies/1"),
        ("badFile", "/replies/0/attachments/0/path"), ("relativeFile", "/replies/0/attachments/0/path"),
        ("unshowable", "/replies/1"), ("long", ""),
    ]

    @Test(arguments: refusals)
    func `one bad reply refuses the whole answer, and the conversation continues`(
        _ fault: String, _ pointer: String
    ) async throws {
        let server = try await faultyServer(fault)
        var customer = server.customer()
        customer.capabilities = [.listPicker]
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let end = try #require(await server.stages.first { $0.stage == .finish })
        guard case .failed(let reason) = end.result else {
            Issue.record("\(end.result)")
            return
        }
        #expect(end.attempt == 1)
        let place = pointer.isEmpty ? "/" : pointer
        #expect(reason.contains(" at \(place) ("), "\(reason)")
        #expect(server.log.lines.contains { $0.contains("handler answer refused") && $0.contains(place) })
        // The handler answers the second message correctly, as if its author had corrected it.
        #expect(try await customer.post(customer.message(completing: Self.corrected)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.map { $0.message.root["body"]?.string } == ["corrected"])
        let tail = try await server.logTail()
        #expect(tail.contains { $0.contains("answer to delivery") && $0.contains(place) }, "\(tail)")
        await server.stop()
        let dead = try JournalFiles(dataDirectory: server.directory.file("data")).events {
            $0.status == .failed
        }
        #expect(dead.map(\.reason) == [reason])
        #expect(dead.first?.problems?[0]?["pointer"]?.string == pointer)
        #expect(dead.first?.problems?[0]?["passage"]?.string?.isEmpty == false)
    }

    private static let corrected = Array(#"{"type": "text", "body": "corrected"}"#.utf8)

    @Test func `a fallback answers the customer when an answer is refused`() async throws {
        let program = FaultyServer.program
        let server = try await ServerUnderTest(bindings: [
            #"{"handler": {"exec": ["\#(program)", "malformed"]}, "fallback": {"text": "An agent will reply."}}"#
        ])
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.map { $0.message.root["body"]?.string } == ["An agent will reply."])
        await server.stages.first { $0.stage == .finish }
        await server.stop()
        let dead = try JournalFiles(dataDirectory: server.directory.file("data")).events {
            $0.status == .failed
        }
        #expect(dead.count == 1)
    }

    @Test func `a reply that the device cannot show is sent as its fallback`() async throws {
        let server = try await faultyServer("fallback")
        var customer = server.customer()
        customer.capabilities = [.listPicker]
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.map { $0.message.root["body"]?.string } == ["Write yes or no."])
        await server.stop()
    }

    /// The log lines about a handler that never becomes ready.
    private static let failures: [(fault: String, line: String)] = [
        ("silent", "did not answer in time"), ("unflushed", "did not answer in time"),
        ("wrongVersion", "the protocol version is not"), ("garbage", "but no protocol message"),
        ("badConfig", "says=no greeting"),
        ("unknownKind", "\"picture\", which is no kind; the kinds are text quickReply"),
    ]

    @Test(arguments: failures)
    func `a handler that does not complete the handshake is restarted, and its events wait`(
        _ fault: String, _ line: String
    ) async throws {
        var timings = ChildTimings.impatient
        // Shorten the limit of the handshake for the faults in which the handler does not answer it.
        if ["silent", "unflushed"].contains(fault) { timings.handshake = .seconds(1) }
        let server = try await faultyServer(fault, timings: timings)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.stages.first { $0.stage == .record }
        await server.log.first { $0.contains(line) }
        await server.log.first { $0.contains("handler process ended") }
        let tail = try await server.logTail()
        #expect(tail.contains { $0.contains("handshake refused") })
        #expect(try await server.readiness() == 200)
        await server.stop()
        #expect(!server.stages.events.contains { $0.stage == .handle })
        #expect(try server.conversation(of: customer).count == 1)
    }

    @Test func `a handler that does not read its input is killed and started again`() async throws {
        let server = try await faultyServer("deaf", timings: .impatient, deadline: .seconds(1))
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.log.first { $0.contains("handler hangs") }
        await server.log.first { $0.contains("handler process ended") && $0.contains("signal(9)") }
        await server.stop()
    }

    @Test func `a handler that ignores SIGTERM is killed when the server stops`() async throws {
        let server = try await faultyServer("stubborn", timings: .impatient)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        await server.stop()
        #expect(
            server.log.lines.contains { $0.contains("handler process ended") && $0.contains("signal(9)") })
    }

    @Test func `a handler's own child processes end with it, even when they hold the pipes`() async throws {
        let server = try await faultyServer("children")
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.stages.first { $0.stage == .finish }
        await server.log.first { $0.contains("handler process ended") && $0.contains("status(0)") }
        await server.stop()
        #expect(await endOfProcesses(in: server.directory.path))
    }

    @Test(arguments: ["./missing", "./not-executable"])
    func `a program that cannot be started does not affect other businesses`(_ program: String) async throws {
        let directory = TemporaryDirectory()
        try AtomicFile.write(Array("#!/bin/sh\n".utf8), to: directory.file("not-executable"))
        let good = #"{"exec": ["\#(FaultyServer.program)", "good"]}"#
        let server = try await ServerUnderTest(
            bindings: [#"{"exec": ["\#(program)"]}"#, good], directory: directory)
        await server.log.first { $0.contains("handler cannot be started") }
        let customer = server.customer(1)
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.first?.message.root["body"]?.string == "good 1")
        await server.stop()
    }

    @Test
    func `a handler that does not answer an event gets a cancel, a ping and a shutdown`()
        async throws
    {
        let server = try await faultyServer("mute", deadline: .seconds(1))
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.stages.first { $0.stage == .handle }
        func said() throws -> [Substring] {
            let file = try Descriptor.open(reading: server.directory.file("calls"))
            return String(decoding: try file.readToEnd(maximumBytes: 1 << 20), as: UTF8.self)
                .split(separator: "\n")
        }
        #expect(try await eventually { try said().contains("ping ") })
        await server.stop()
        let calls = try said()
        #expect(calls.first == "initialize ")
        let event = try #require(calls.dropFirst().first)
        #expect(event.hasPrefix("event "))
        let cancel = try #require(calls.firstIndex(of: "cancel \(event.dropFirst("event ".count))"))
        let ping = try #require(calls.firstIndex(of: "ping "))
        #expect(1 < cancel && cancel < ping)
        #expect(calls.last == "shutdown ")
        // The handler answered the ping, so it was not killed.
        #expect(
            server.log.lines.contains { $0.contains("handler process ended") && $0.contains("status(0)") })
    }

    @Test func `a long message is passed in a file, which is removed after the answer`() async throws {
        let server = try await faultyServer("path")
        let customer = server.customer()
        // The text varies, so that its compressed form is not refused as a decompression bomb.
        let text = (0..<20_000).map { "\($0) " }.joined()
        let message = #"{"type": "text", "body": "\#(text)"}"#
        #expect(try await customer.post(customer.message(completing: Array(message.utf8))).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.first?.message.root["body"]?.string == "\(text.count) 600 False")
        await server.stop()
        #expect(try Directory.names(in: server.directory.file("data/handlers/b0")) == [])
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a file system takes root"))
    func `a full disk that refuses a long message's file costs no attempt`() async throws {
        let server = try await faultyServer("path")
        let customer = server.customer()
        let disk = try SmallDisk(bytes: 64 << 10, at: server.directory.file("data/handlers/b0"))
        let text = (0..<20_000).map { "\($0) " }.joined()
        let message = #"{"type": "text", "body": "\#(text)"}"#
        #expect(try await customer.post(customer.message(completing: Array(message.utf8))).status == 200)
        let given = await server.stages.first { event in
            switch event.result {
            case .released, .postponed: true
            default: false
            }
        }
        guard case .released(let reason)? = given?.result else {
            Issue.record("\(given as Any)")
            return
        }
        #expect(reason.contains("No space left"))
        try disk.resize(to: 1 << 20)
        #expect(await server.gateway.waitForMessages(customer: customer.id).count == 1)
        let handled = await server.stages.first { $0.stage == .finish }
        #expect(handled?.attempt == 1)
        await server.stop()
    }

    @Test func `a child sees the allowed environment and none of our secrets`() async throws {
        let server = try await faultyServer("environment")
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.stages.first { $0.stage == .finish }
        // The file is written after the answer and before the process ends.
        await server.stop()
        let path = server.directory.file("environment.json")
        let bytes = try Descriptor.open(reading: path).readToEnd(maximumBytes: 1 << 20)
        let names = try JSONDocument(bytes).root.members.map(\.key)
        #expect(Set(["BALLOON_BUSINESS", "EXTRA", "PATH"]).isSubset(of: names))
        #expect(!names.contains("BALLOON_SECRET") && !names.contains("SOME_PASSWORD"))
    }
}

/// A server whose one handler has a fault.
private func faultyServer(
    _ fault: String, timings: ChildTimings = .quick, deadline: Duration = .seconds(60)
) async throws -> ServerUnderTest {
    var limits = ServerLimits()
    limits.handlerDeadline = deadline
    return try await ServerUnderTest(
        bindings: [#"{"exec": ["\#(FaultyServer.program)", "\#(fault)"], "environment": {"EXTRA": "1"}}"#],
        timings: timings, limits: limits)
}

private enum FaultyServer {
    static let program = Fixture.directory + "/handlers/faulty.py"
}
