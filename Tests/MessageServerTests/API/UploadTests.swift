import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Dispatch
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// Uploads of attachments over the API.
@Suite struct UploadTests {
    private static let path = "/v1/businesses/one/attachments"

    private func upload(
        _ content: String, _ server: ServerUnderTest, digest: String? = nil, path: String = path,
        token: String = TestTokens.sender
    ) async throws -> TransportResponse {
        try await server.api(
            path, token, method: "POST", body: content,
            headers: digest.map { [("Content-Digest", $0)] } ?? [])
    }

    private static func digest(_ content: String) -> String {
        "sha-256=:\(Base64.encode(SHA256.hash(Array(content.utf8)))):"
    }

    /// The files of a server's uploads.
    private func files(_ server: ServerUnderTest) throws -> [String] {
        let folder = server.configuration.dataDirectory + "/outgoing"
        guard Directory.exists(folder) else { return [] }
        return try Directory.names(in: folder).flatMap { try Directory.names(in: "\(folder)/\($0)") }
    }

    @Test func `an uploaded attachment is sent with a text, and belongs to its business`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let content = String(repeating: "rye bread ", count: 30_000)
        let uploaded = try await upload(content, server, digest: Self.digest(content))
        #expect(uploaded.status == 201)
        #expect(try uploaded.json["size"]?.int == 300_000)
        let id = try #require(try uploaded.json["id"]?.string)
        let path = "/v1/businesses/one/conversations/\(ConversationFiles.name(of: customer.id))/messages"
        let attachment = #"{"id":"\#(id)","name":"bread.txt","mimeType":"text/plain"}"#
        let body = #"{"text":"The list","attachments":[\#(attachment)]}"#
        let headers = [(name: "Idempotency-Key", value: "1"), ("Prefer", "wait=50")]
        #expect(try await eventually { try await server.api(path).status == 200 })
        let dry = try await server.api(
            path + "?dryRun=true", method: "POST", body: body, headers: headers)
        #expect(dry.status == 200)
        let answer = try await server.api(path, method: "POST", body: body, headers: headers)
        #expect(try answer.json["outcome"]?.string == "accepted")
        let sent = try #require(server.gateway.messages(for: customer.id).last?.message.root)
        #expect(sent["body"]?.string == "The list\u{FFFC}")
        #expect(sent["attachments"]?.elements.first { _ in true }?["size"]?.string == "300000")
        let sentID = try #require(try answer.json["id"]?.string)
        #expect(
            try await eventually {
                try await server.api("\(path)/\(sentID)").json["files"]?.elements.map {
                    $0["size"]?.int
                } == [300_000]
            })
        let download = try await server.api("\(path)/\(sentID)/attachments/0")
        #expect(download.status == 200 && download.body == Array(content.utf8))
        #expect(download.header("Content-Type") == "text/plain")
        #expect(
            download.header("Content-Disposition")?.hasPrefix("attachment; filename=\"bread.txt\"") == true)
        #expect(try await server.api("\(path)/\(sentID)/attachments/1").status == 404)
        let folder = server.configuration.dataDirectory + "/attachments"
        let hash = Hex.encode(SHA256.hash(Array(content.utf8)))
        try Directory.remove("\(folder)/\(hash.prefix(2))/\(hash)")
        let gone = try await server.api("\(path)/\(sentID)/attachments/0")
        #expect(gone.status == 404 && gone.problem == "not-found")
        #expect(try gone.json["detail"]?.string == "the file is no longer kept")
        let unknown = body.replacing(id, with: String(repeating: "0", count: 32))
        let refused = try await server.api(
            path, method: "POST", body: unknown, headers: [("Idempotency-Key", "2")])
        #expect(refused.status == 422 && refused.problem == "unprocessable")
        #expect(try refused.json["pointer"]?.string == "/attachments/0/id")
        let other = server.customer(to: ServerUnderTest.otherBusiness)
        #expect(try await other.post(other.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: other.id)
        let otherPath =
            "/v1/businesses/two/conversations/\(ConversationFiles.name(of: other.id))/messages"
        #expect(try await eventually { try await server.api(otherPath).status == 200 })
        let foreign = try await server.api(
            otherPath, method: "POST", body: body, headers: [("Idempotency-Key", "3")])
        #expect(foreign.status == 422)
        // The answer does not tell a file of another business from an unknown one.
        let nowhere = try await server.api(
            otherPath, method: "POST", body: unknown, headers: [("Idempotency-Key", "4")])
        func text(_ response: TransportResponse) throws -> String {
            String(decoding: response.body, as: UTF8.self).replacing(
                try #require(try response.json["reference"]?.string), with: "")
        }
        #expect(nowhere.status == 422)
        #expect(try text(foreign) == text(nowhere))
        await server.stop(secrets: ["rye bread", "bread.txt", "The list"])
    }

    @Test func `an upload with another digest, without content or above the limit leaves no file`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI { $0.attachments.maximumBytes = 100_000 }
        let other = try await upload("rye", server, digest: Self.digest("oat"))
        #expect(other.status == 400 && other.problem == "digest-mismatch")
        for malformed in ["sha-256", "sha-256=rye", "sha-256=:AAAA:", "sha-256=::"] {
            #expect(try await upload("rye", server, digest: malformed).problem == "bad-request")
        }
        #expect(try await upload("", server).status == 400)
        let large = try await upload(String(repeating: "x", count: 100_001), server)
        #expect(large.status == 413 && large.problem == "too-large")
        #expect(try await upload("rye", server, path: "/v1/businesses/six/attachments").status == 404)
        #expect(try await upload("rye", server, token: TestTokens.reader).status == 403)
        #expect(await eventually { (try? files(server)) == [] })
        let ignored = "sha-512=:AAAA:, \(Self.digest("rye"))"
        #expect(try await upload("rye", server, digest: ignored).status == 201)
        #expect(try files(server).count == 1)
        await server.stop()
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a file system takes root"))
    func `an upload to a full disk is answered with 503 and leaves no file`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let folder = server.configuration.dataDirectory + "/outgoing"
        try Directory.make(folder)
        let disk = try SmallDisk(bytes: 64 << 10, at: folder)
        let full = try await upload(String(repeating: "x", count: 200_000), server)
        #expect(full.status == 503 && full.problem == "unavailable")
        // The line says what failed, and where.
        #expect(
            server.log.lines.contains {
                $0.contains("API request refused") && $0.contains("cause") && $0.contains("attachments")
                    && $0.contains("No space left")
            })
        #expect(await eventually { (try? files(server)) == [] })
        #expect(try await upload("rye", server).status == 201)
        await server.stop()
        withExtendedLifetime(disk) {}
    }

    @Test func `uploads expire after a day, used ones after ten minutes, incomplete ones at a start`() throws
    {
        let directory = TemporaryDirectory()
        let business = BusinessID("b")
        let uploads = UploadedFiles(dataDirectory: directory.path)
        func add(_ text: String) throws -> String {
            let upload = try uploads.begin(for: business, token: "crm")
            try upload.append(Array(text.utf8))
            return try upload.finish()
        }
        let (old, used, new) = (try add("old"), try add("used"), try add("new"))
        let path = try #require(uploads.path(of: old, for: business))
        #expect(uploads.path(of: old, for: BusinessID("c")) == nil)
        #expect(uploads.path(of: "../" + old.dropLast(3), for: business) == nil)
        let now = SystemClock.secondsSince1970()
        uploads.markUsed(used, of: business)
        let restarted = UploadedFiles(dataDirectory: directory.path)
        let usedPath = try #require(restarted.path(of: used, for: business))
        let age = now - (try FileStatus.modifiedSecondsSince1970(usedPath))
        #expect(age >= UploadedFiles.lifetimeSeconds - UploadedFiles.usedLifetimeSeconds - 5)
        let unfinished = try uploads.begin(for: business, token: "crm")
        try unfinished.append([1])
        #expect(try Directory.names(in: directory.file("outgoing/incoming")).count == 1)
        try restarted.removeUnfinished()
        #expect(try Directory.names(in: directory.file("outgoing/incoming")).isEmpty)
        try FileStatus.setModified(path, secondsSince1970: now - UploadedFiles.lifetimeSeconds - 1)
        #expect(try restarted.sweep() == 1)
        #expect(restarted.path(of: old, for: business) == nil)
        #expect(restarted.path(of: new, for: business) != nil)
        withExtendedLifetime(unfinished) {}
    }

    @Test func `uploads at a time, files and bytes are limited for each business`() throws {
        let directory = TemporaryDirectory()
        let (one, two) = (BusinessID("1"), BusinessID("2"))
        let uploads = UploadedFiles(
            dataDirectory: directory.path, limits: .init(files: 2, bytes: 100, uploads: 2))
        func add(_ bytes: Int, _ business: BusinessID) throws {
            let upload = try uploads.begin(for: business, token: "crm")
            try upload.append([UInt8](repeating: 0, count: bytes))
            _ = try upload.finish()
        }
        let first = try uploads.begin(for: one, token: "crm")
        let second = try uploads.begin(for: one, token: "crm")
        #expect(throws: UploadedFiles.Refusal.busy) { try uploads.begin(for: one, token: "crm") }
        try add(1, two)
        withExtendedLifetime((first, second)) {}
        try add(1, two)
        #expect(throws: UploadedFiles.Refusal.full) { try uploads.begin(for: two, token: "crm") }
        let three = BusinessID("3")
        try add(100, three)
        #expect(throws: UploadedFiles.Refusal.full) { try uploads.begin(for: three, token: "crm") }
    }

    @Test func `uploads in progress count, and a token has a part of them`() throws {
        let directory = TemporaryDirectory()
        let business = BusinessID("b")
        let uploads = UploadedFiles(
            dataDirectory: directory.path, limits: .init(files: 3, bytes: 100, uploads: 4, uploadsPerToken: 2)
        )
        let first = try uploads.begin(for: business, token: "crm")
        let second = try uploads.begin(for: business, token: "crm")
        #expect(throws: UploadedFiles.Refusal.busy) { try uploads.begin(for: business, token: "crm") }
        let third = try uploads.begin(for: business, token: "other")
        // Four files would be one too many.
        #expect(throws: UploadedFiles.Refusal.full) { try uploads.begin(for: business, token: "other") }
        try first.append([UInt8](repeating: 0, count: 60))
        _ = try first.finish()
        try second.append([UInt8](repeating: 0, count: 40))
        #expect(throws: UploadedFiles.Refusal.full) { try third.append([1]) }
        withExtendedLifetime((second, third)) {}
    }

    @Test func `an expired file makes room even while another upload is in progress`() throws {
        let directory = TemporaryDirectory()
        let business = BusinessID("b")
        let uploads = UploadedFiles(dataDirectory: directory.path, limits: .init(bytes: 100))
        let slow = try uploads.begin(for: business, token: "crm")
        let first = try uploads.begin(for: business, token: "crm")
        try first.append([UInt8](repeating: 0, count: 80))
        let path = try #require(uploads.path(of: try first.finish(), for: business))
        let second = try uploads.begin(for: business, token: "crm")
        #expect(throws: UploadedFiles.Refusal.full) { try second.append([UInt8](repeating: 0, count: 80)) }
        let now = SystemClock.secondsSince1970()
        try FileStatus.setModified(path, secondsSince1970: now - UploadedFiles.lifetimeSeconds - 1)
        let third = try uploads.begin(for: business, token: "crm")
        try third.append([UInt8](repeating: 0, count: 80))
        withExtendedLifetime((slow, first, second, third)) {}
    }

    private let api = BusinessAPI(
        APIAccess(TestTokens.configuration, businesses: [], isSecure: false) { nil },
        cursors: APICursor(secret: .random(byteCount: 32), store: "s"),
        numbers: RecordNumbers(key: .random(byteCount: 32), store: "s"), logger: LogCollector().logger)

    /// Operations that block their threads until they may end.
    private final class Blocked: Sendable {
        private let begun = Mutex(0)
        private let isOver = DispatchSemaphore(value: 0)

        var count: Int { begun.withLock { $0 } }

        func run() {
            begun.withLock { $0 += 1 }
            isOver.wait()
        }

        func end(_ operations: Int) {
            for _ in 0..<operations { isOver.signal() }
        }
    }

    private func executor(_ token: Int, _ body: APIRoute.Body = .none) -> BlockingTaskExecutor {
        let route = APIRoute(.post, "/v1/x", may: .send, body: body, "X", .typing) { _ in APIAnswer { _ in } }
        return api.executor(of: route, for: TestTokens.configuration.tokens[token])
    }

    @Test func `uploads of a token have threads of their own`() {
        let own = executor(0)
        #expect(executor(0, .json(maximumBytes: 1, .any)) === own)
        #expect(executor(0, .pulled(maximumBytes: { 1 })) !== own)
        #expect(executor(1) !== own)
    }

    @Test(arguments: [APIRoute.Body.none, .pulled(maximumBytes: { 1 })])
    func `operations of one token that block their threads delay no operation of another`(
        body: APIRoute.Body
    ) async {
        let blocked = Blocked()
        var tasks: [Task<Void, Never>] = []
        for _ in 0..<32 {
            tasks.append(Task(executorPreference: executor(0, body)) { blocked.run() })
        }
        #expect(await eventually { blocked.count == TokenExecutors.maximumThreads })
        let other = Task(executorPreference: executor(1, body)) { true }
        #expect(await other.value)
        #expect(blocked.count == TokenExecutors.maximumThreads)
        blocked.end(tasks.count)
        for task in tasks { await task.value }
    }
}
