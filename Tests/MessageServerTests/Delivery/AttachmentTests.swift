import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import GatewayClient
import Glibc
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

@Suite struct AttachmentTests {
    private static let content = (0..<300_000).map { UInt8($0 % 251) }
    private static let name = Hex.encode(SHA256.hash(content))

    /// Uploads a file to Apple, like a customer's device, and returns the attachment.
    private func attachment(
        _ content: [UInt8], _ server: ServerUnderTest, for business: BusinessID = ServerUnderTest.business
    ) async throws -> String {
        let client = try GatewayClient(
            configuration: GatewayConfiguration(
                baseURL: #require(server.gateway.baseURL), mspID: ServerUnderTest.mspID,
                secret: server.secret,
                downloadHosts: [String(#require(server.gateway.origin).dropFirst("http://".count))]),
            logger: server.log.logger)
        let file = try await client.upload(ContentSource(bytes: content), for: business)
        return String(
            decoding: file.attachment(name: "../../evil.html", mimeType: "text/html").json, as: UTF8.self)
    }

    private func post(_ attachments: [String], _ customer: SimulatedCustomer) async throws {
        let marks = String(repeating: "\u{FFFC}", count: attachments.count)
        let message = """
            {"v":1,"type":"text","body":"Look: \(marks)","attachments":[\(attachments.joined(separator: ","))]}
            """
        let answer = try await customer.post(customer.message(completing: Array(message.utf8)))
        #expect(answer.status == 200)
    }

    /// The names of the stored contents.
    private func names(_ server: ServerUnderTest) throws -> [String] {
        let folder = server.directory.file("data/attachments")
        guard Directory.exists(folder) else { return [] }
        return try Directory.names(in: folder).flatMap { try Directory.names(in: folder + "/" + $0) }
            .filter { !$0.contains(".") }
    }

    @Test func `the files of an interactive message are downloaded like those of a text`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let file = try await attachment(Self.content, server)
        let choice = String(decoding: customer.message(.app), as: UTF8.self)
            .replacing(
                #""type": "interactive","#, with: #""type": "interactive", "attachments": [\#(file)],"#)
        #expect(try await customer.post(Array(choice.utf8)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let seen = try #require(handler.seen.first)
        #expect(seen.event.kind == .app)
        guard case .stored(_, let sizeBytes, let sha256)? = seen.files.first else {
            Issue.record("no file: \(seen.files)")
            return await server.stop()
        }
        #expect((sizeBytes, sha256) == (Self.content.count, Self.name))
        await server.stop()
        let files = try server.conversation(of: customer).flatMap(\.files)
        #expect(files == [.stored(sha256: Self.name, sizeBytes: Self.content.count)])
    }

    @Test func `a file is downloaded, stored once by its content, and named in its line`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let one = try await attachment(Self.content, server)
        let same = try await attachment(Self.content, server)
        let other = try await attachment([1, 2, 3], server)
        try await post([one, same, other], customer)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let otherName = Hex.encode(SHA256.hash([1, 2, 3] as [UInt8]))
        guard case .stored(let path, let sizeBytes, let sha256)? = handler.seen.first?.files.first else {
            Issue.record("no file: \(String(describing: handler.seen.first?.files))")
            return await server.stop()
        }
        #expect((sizeBytes, sha256) == (Self.content.count, Self.name))
        #expect(try File(path, for: .reading).readAll() == Self.content)
        #expect(try names(server).sorted() == [Self.name, otherName].sorted())
        await server.stop()
        let line = try #require(try server.conversation(of: customer).first)
        #expect(
            line.files == [
                .stored(sha256: Self.name, sizeBytes: Self.content.count),
                .stored(sha256: Self.name, sizeBytes: Self.content.count),
                .stored(sha256: otherName, sizeBytes: 3),
            ])
    }

    @Test func `an unavailable file is recorded as missing, and the message is delivered`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let good = try await attachment([1, 2, 3], server)
        server.gateway.misbehave(at: .preDownload, .answer(.notFound))
        try await post([good], customer)
        try await post([#"{"name":"x","mimeType":"y","size":1}"#, good], customer)
        _ = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        guard case .missing? = handler.seen.first?.files.first,
            case .missing? = handler.seen.last?.files.first,
            case .stored? = handler.seen.last?.files.last
        else {
            Issue.record("\(handler.seen.map(\.files))")
            return await server.stop()
        }
        #expect(server.stages.events.contains { $0.stage == .fetch && $0.result != .done })
        await server.stop()
        let lines = try server.conversation(of: customer).filter { $0.direction == .inbound }
        #expect(lines.map(\.files.count) == [1, 2])
    }

    @Test func `a download is retried until it succeeds or the time limit passes`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let file = try await attachment([1, 2, 3], server)
        // One failure more than the client's own attempts, so that the server must retry the download.
        server.gateway.misbehave(at: .preDownload, .answer(.serviceUnavailable), times: 5)
        try await post([file], customer)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        guard case .stored? = handler.seen.first?.files.first else {
            Issue.record("\(handler.seen.map(\.files))")
            return await server.stop()
        }
        await server.stop()
    }

    @Test func `incomplete downloads of an earlier process are removed before new downloads`() async throws {
        let directory = TemporaryDirectory()
        let incoming = directory.file("data/attachments/incoming")
        try Directory.make(incoming)
        try AtomicFile.write([1], to: incoming + "/half")
        let server = try await ServerUnderTest(directory: directory)
        #expect(try Directory.names(in: incoming).isEmpty)
        await server.stop()
    }

    @Test func `a message is delivered without a file whose download exceeds the time limit`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler) { $0.attachments.deadline = .milliseconds(300) }
        let customer = server.customer()
        let file = try await attachment([1, 2, 3], server)
        server.gateway.misbehave(at: .blob, .silence)
        try await post([file], customer)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        guard case .missing? = handler.seen.first?.files.first else {
            Issue.record("\(handler.seen.map(\.files))")
            return await server.stop()
        }
        await server.stop()
    }

    @Test func `an endless download does not delay a stop`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        let file = try await attachment([1, 2, 3], server)
        server.gateway.misbehave(at: .blob, .silence)
        try await post([file], customer)
        #expect(await eventually { server.stages.events.contains { $0.stage == .decode } })
        let start = ContinuousClock.now
        // The download could last longer than the whole stop; it is cancelled at the end of the grace period.
        #expect(await server.stopServer(within: .seconds(90), grace: .seconds(1)) == true)
        #expect(.now - start < .seconds(60))
        await server.stop()
    }

    @Test func `a file over the limit is not downloaded`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler) { $0.attachments.maximumBytes = 2 }
        let customer = server.customer()
        try await post([try await attachment([1, 2, 3], server)], customer)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        guard case .missing(let reason)? = handler.seen.first?.files.first else {
            Issue.record("\(handler.seen.map(\.files))")
            return await server.stop()
        }
        #expect(reason.contains("more than 2 bytes"))
        #expect(try names(server).isEmpty)
        await server.stop()
    }

    @Test func `later attempts of a delivery do not download its files again`() async throws {
        let handler = SecondTimeHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        try await post([try await attachment([1, 2, 3], server)], customer)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        #expect(handler.files.count == 2)
        #expect(handler.files.first == handler.files.last)
        #expect(server.gateway.requestCount(.blob) == 1)
        await server.stop()
    }

    @Test func `a replay has the stored file even when Apple deleted it`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        try await post([try await attachment([1, 2, 3], server)], customer)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let record = try #require(handler.seen.first?.record)
        server.gateway.misbehave(MisbehaviourRule(.preDownload, .answer(.notFound)))
        let replay = Array(#"{"messages":[{"record":\#(record),"as":"handled"}]}"#.utf8)
        // The reply may be sent before the delivery counts as handled.
        var status = 0
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            status = try await server.control("/replay", method: "POST", body: replay).status
        } while status != 200
            && ContinuousClock.now < deadline
        #expect(status == 200)
        _ = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        #expect(handler.seen.count == 2)
        #expect(handler.seen.first?.files == handler.seen.last?.files)
        await server.stop()
    }

    @Test func `a handler's file is uploaded from the data directory, even when the original is removed`()
        async throws
    {
        let directory = TemporaryDirectory()
        let path = directory.file("offer.pdf")
        try AtomicFile.write(Self.content, to: path)
        let server = try await ServerUnderTest(FileHandler(path: path))
        // The second attempt to send the reply, after the original was removed, must not need the original.
        server.gateway.misbehave(at: .message, .answer(.serviceUnavailable))
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.log.first { $0.contains("stage=handle") }
        try Directory.remove(path)
        let reply = try #require(await server.gateway.waitForMessages(customer: customer.id).first)
        let attachment = try #require(reply.message.root["attachments"].flatMap { Array($0.elements).first })
        #expect(attachment["name"]?.string == "offer.pdf")
        #expect(attachment["size"]?.string == "\(Self.content.count)")
        #expect(attachment["path"] == nil)
        // Apple stores the file, under the key of the message.
        #expect(try await fetch(attachment, server) == Self.content)
        await server.stop(secrets: [attachment["key"]?.string ?? "none"])
        let line = try #require(try server.conversation(of: customer).last)
        #expect(
            line.message["attachments"].flatMap({ Array($0.elements).first })?["file"]?.string == Self.name)
        #expect(line.outcome == "accepted")
    }

    /// A text whose attachment has all members that Apple documents, and the hash of a stored file.
    fileprivate static func text(naming sha256: String) -> String {
        """
        {"type":"text","body":"\u{FFFC}","attachments":[{"name":"a","mimeType":"text/plain","size":"3","file":"\(sha256)",\
        "signature-base64":"gT6/RKaWd6peyoc0YJbtTDc7AhSk","url":"https://p29-content.icloud.com/M","owner":"M",\
        "key":"00\(String(repeating: "AB", count: 32))"}]}
        """
    }

    @Test func `a message that names a file of another business by its hash is refused`() async throws {
        let server = try await ServerUnderTest(StoredFileHandler(sha256: Self.name))
        let other = server.customer(to: ServerUnderTest.otherBusiness)
        try await post([attachment(Self.content, server, for: ServerUnderTest.otherBusiness)], other)
        #expect(await eventually { (try? names(server)) == [Self.name] })
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.log.first {
            $0.contains("handler answer refused") && $0.contains("attachmentFile")
                && $0.contains("/replies/0/attachments/0/file")
        }
        // An unknown hash gets the same answer.
        for hash in [Self.name, String(repeating: "0", count: 64)] {
            let request = SendRequest(
                business: ServerUnderTest.business, customer: customer.id,
                message: try JSONDocument(Array(Self.text(naming: hash).utf8)), files: [], wait: .zero)
            let answer = try await server.control("/send", method: "POST", body: request.json)
            #expect(answer.status == 400)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("attachment 0 has the member file"))
        }
        #expect(server.gateway.messages(for: customer.id).isEmpty)
        await server.stop()
    }

    @Test func `a handler's message without an event that names a file by its hash is refused`() async throws
    {
        let test = try await SenderUnderTest(isRunning: false)
        let messages = ProactiveMessages()
        messages.open(test.store, CurrentConfiguration())
        let reply = try Reply(json: JSONDocument(Array(Self.text(naming: Self.name).utf8)))
        let error = await #expect(throws: HandlerHostError.self) {
            _ = try await messages.send(reply, from: SenderUnderTest.business, to: CustomerID("c"), key: "k")
        }
        guard case .unusableMessage(let refusal)? = error else {
            Issue.record("\(String(describing: error))")
            return await test.stop()
        }
        #expect(refusal.problems.map(\.pointer) == ["/message/attachments/0/file"])
        #expect(test.store.queuedReplyCount == 0)
        await test.stop()
    }

    @Test(arguments: ["/nowhere/offer.pdf", "/dev/zero", "pipe"])
    func `an answer that names an unreadable file is refused`(_ path: String) async throws {
        let directory = TemporaryDirectory()
        // The pipe has no writer, so that opening it could block.
        if path == "pipe" { try #require(mkfifo(directory.file(path), 0o600) == 0) }
        let server = try await ServerUnderTest(
            FileHandler(path: path == "pipe" ? directory.file(path) : path))
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.log.first { $0.contains("handler answer refused") && $0.contains("attachmentFile") }
        await server.stop()
        #expect(try server.conversation(of: customer).map(\.direction) == [.inbound])
    }

    /// The folder of attachments, with contents that businesses use.
    private struct Contents {
        let directory = TemporaryDirectory()
        let files: AttachmentFiles

        init() { files = AttachmentFiles(dataDirectory: directory.path) }

        /// Stores a text for a business; returns its hash.
        func keep(_ text: String, for business: String = "a", at seconds: Int? = nil) throws -> String {
            let path = directory.file("source")
            try? Directory.remove(path)
            try AtomicFile.write(Array(text.utf8), to: path)
            let sha256 = try files.copy(path, maximumBytes: 100, into: files.hold(for: BusinessID(business)))
                .sha256
            guard let seconds else { return sha256 }
            let names = try Directory.names(in: folder(of: sha256))
            for name in names where name.hasPrefix(sha256) {
                let isOther = name.contains(".") && !name.hasSuffix(use(by: business))
                if !isOther {
                    try FileStatus.setModified(folder(of: sha256) + "/" + name, secondsSince1970: seconds)
                }
            }
            return sha256
        }

        func folder(of sha256: String) -> String { directory.path + "/attachments/" + sha256.prefix(2) }

        func use(by business: String) -> String {
            "." + Hex.encode(SHA256.hash(business.utf8).prefix(16))
        }

        /// Which of the contents exist.
        func areKept(_ hashes: [String]) -> [Bool] { hashes.map { files.existing($0) != nil } }
    }

    private static let day = 86_400

    @Test func `only files that no recent message contains are deleted`() throws {
        let contents = Contents()
        let hashes = try [contents.keep("old", at: 1000), contents.keep("young", at: 2000)]
        // A recent message contains the file too, so that it counts as new.
        let again = try contents.keep("again", at: 1000)
        #expect(try contents.keep("again") == again)
        let (files, periods) = (contents.files, AttachmentPeriods(.seconds(500)))
        #expect(try files.sweep(at: 2500, periods) == 1)
        #expect(contents.areKept(hashes + [again]) == [false, true, true])
        #expect(try Directory.names(in: contents.folder(of: hashes[0])).isEmpty)
        #expect(throws: SystemError.fileTooLarge) {
            try files.copy(
                contents.directory.file("source"), maximumBytes: 3, into: files.hold(for: BusinessID("a")))
        }
        #expect(files.path(of: "../../etc/passwd") == nil)
        #expect(files.path(of: hashes[0].uppercased()) == nil)
    }

    @Test func `each business keeps files for its own period, and a shared file for the longest`() throws {
        let contents = Contents()
        let start = 1_000_000_000
        let short = try contents.keep("short", for: "short", at: start)
        let long = try contents.keep("long", for: "long", at: start)
        let other = try contents.keep("other", for: "other", at: start)
        let shared = try contents.keep("shared", for: "long", at: start)
        #expect(try contents.keep("shared", for: "short", at: start + 3 * Self.day) == shared)
        let all = [short, long, other, shared]
        let periods = AttachmentPeriods(
            .seconds(10 * Self.day), daysByBusiness: [BusinessID("short"): 4, BusinessID("long"): 30])
        func keptAfter(_ days: Int) throws -> [Bool] {
            _ = try contents.files.sweep(at: start + days * Self.day + 1, periods)
            return contents.areKept(all)
        }
        #expect(try keptAfter(3) == [true, true, true, true])
        #expect(try keptAfter(4) == [false, true, true, true])
        #expect(try keptAfter(10) == [false, true, false, true])
        #expect(try keptAfter(30) == [false, false, false, false])
        #expect(try all.allSatisfy { try Directory.names(in: contents.folder(of: $0)).isEmpty })
    }

    @Test func `without a period for all businesses, only files of a business with a period expire`() throws {
        let contents = Contents()
        let hashes = try [contents.keep("a", for: "a", at: 1000), contents.keep("b", for: "b", at: 1000)]
        let periods = AttachmentPeriods(nil, daysByBusiness: [BusinessID("a"): 4])
        #expect(try contents.files.sweep(at: 1000 + 5 * Self.day, periods) == 1)
        #expect(contents.areKept(hashes) == [false, true])
        #expect(AttachmentPeriods(nil).keepAll && !periods.keepAll)
    }

    @Test func `a file of an earlier version is kept for the period of all businesses`() throws {
        let contents = Contents()
        let start = 1_000_000_000
        let hashes = try ["used again", "not used again"].map { try contents.keep($0, for: "a", at: start) }
        for hash in hashes {
            // Earlier versions wrote no file for a use.
            try Directory.remove(contents.folder(of: hash) + "/" + hash + contents.use(by: "a"))
        }
        _ = try contents.keep("used again", for: "short", at: start + Self.day)
        let periods = AttachmentPeriods(.seconds(10 * Self.day), daysByBusiness: [BusinessID("short"): 4])
        #expect(try contents.files.sweep(at: start + 9 * Self.day, periods) == 0)
        #expect(contents.areKept(hashes) == [true, true])
        #expect(try contents.files.sweep(at: start + 11 * Self.day, periods) == 2)
        #expect(try hashes.allSatisfy { try Directory.names(in: contents.folder(of: $0)).isEmpty })
    }

    private func fetch(_ attachment: JSONValue, _ server: ServerUnderTest) async throws -> [UInt8] {
        let message = Array(#"{"type":"text","body":"","attachments":[\#(attachment.text.text)]}"#.utf8)
        let event = InboundEvent.decode(
            message: try JSONDocument(message), id: MessageID("1"), business: ServerUnderTest.business,
            customer: CustomerID("c"), attributes: MessageAttributes())
        guard case .text(let text) = event.content else { return [] }
        let directory = TemporaryDirectory()
        let client = try GatewayClient(
            configuration: GatewayConfiguration(
                baseURL: #require(server.gateway.baseURL), mspID: ServerUnderTest.mspID,
                secret: server.secret,
                downloadHosts: [String(#require(server.gateway.origin).dropFirst("http://".count))]),
            logger: LogCollector().logger)
        let files = AttachmentFiles(dataDirectory: directory.path)
        let file = try await client.download(
            StoredReference(#require(text.attachments.first)), for: ServerUnderTest.business,
            into: files.hold(for: ServerUnderTest.business))
        return try File(#require(files.existing(file.sha256)), for: .reading).readAll()
    }
}

extension Sequence<UInt8> {
    fileprivate var text: String { String(decoding: Array(self), as: UTF8.self) }
}

/// Asks for a retry at the first attempt, and answers at the second.
private final class SecondTimeHandler: TextHandler, Sendable {
    private let seen = Mutex<[[AttachmentFile]]>([])
    var files: [[AttachmentFile]] { seen.withLock { $0 } }

    func text(_ text: Text, _ context: Context) -> Outcome {
        seen.withLock { $0.append(context.files) }
        return context.attempt == 1 ? .retry(after: .milliseconds(1)) : .reply("thanks")
    }
}

/// Names a stored file by its hash in a message in Apple's format.
private struct StoredFileHandler: TextHandler {
    let sha256: String

    func text(_ text: Text, _ context: Context) throws -> Outcome {
        .handled([try Reply(json: JSONDocument(Array(AttachmentTests.text(naming: sha256).utf8)))])
    }
}

/// Answers with the file at `path`.
private struct FileHandler: TextHandler {
    let path: String

    func text(_ text: Text, _ context: Context) -> Outcome {
        .handled([.text("Our offer:", files: [OutboundFile(path: path, mimeType: "application/pdf")])])
    }
}
