import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// The list of operators' and programs' changes.
struct AuditLogTests {
    private func lines(_ directory: TemporaryDirectory) throws -> [JSONValue] {
        let bytes = try File(directory.file("data/audit.jsonl"), for: .reading).readAll()
        return try bytes.split(separator: UInt8(ascii: "\n")).map { try JSONDocument(Array($0)).root }
    }

    @Test
    func `a change over the control socket is a line with user, command, hash, person and result`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer("urn:mbid:audited")
        #expect(try await customer.post(customer.message(.text, text: "secret words")).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let job = #""job":"\#(ControlRoutes.newJob())""#
        let claim =
            #"{\#(job),"business":"\#(ServerUnderTest.business)","customer":"urn:mbid:audited","person":{"id":"ana"},"take":true}"#
        _ = try await server.control("/conversations/claim", method: "POST", body: Array(claim.utf8))
        let drop = #"{"job":"\#(ControlRoutes.newJob())","records":[987654321]}"#
        let refused = try await server.control("/drop", method: "POST", body: Array(drop.utf8))
        #expect(refused.status == 400)
        await server.stop()
        let found = try lines(server.directory)
        #expect(found.compactMap { $0["command"]?.string } == ["POST /conversations/claim", "POST /drop"])
        #expect(found.allSatisfy { $0["by"]?["uid"]?.int == Int(FileOwner.currentUser) })
        #expect(found.map { $0["result"]?.string } == ["done", "failed"])
        #expect(found.map { $0["assigned"]?.string } == ["ana", nil])
        let hash = try #require(found[0]["conversations"]?.elements.map(\.string).first ?? nil)
        #expect(hash.utf8.count == 64)
        let text = String(
            decoding: try File(server.directory.file("data/audit.jsonl"), for: .reading).readAll(),
            as: UTF8.self)
        for value in ["audited", "secret", "987654321"] { #expect(!text.contains(value), "\(value)") }
    }

    @Test func `a change over the business API names token and person, and a message that claims is a line`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer("urn:mbid:audited")
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let name = ConversationFiles.name(of: customer.id)
        let path = "/v1/businesses/one/conversations/\(name)"
        #expect(
            try await server.api(
                path + "/claim", method: "POST", body: #"{"person":{"id":"ana"}}"#,
                headers: [("Content-Type", "application/json")]
            ).status
                == 200)
        #expect(
            try await server.api(
                path + "/claim", method: "POST", body: #"{"person":{"id":"bob"}}"#,
                headers: [("Content-Type", "application/json")]
            ).status
                == 409)
        for (number, body) in [#""id":"ana"}"#, #""id":"bob"},"take":true"#].enumerated() {
            let sent = try await server.api(
                path + "/messages", method: "POST", body: #"{"text":"Yes","person":{\#(body)}"#,
                headers: [("Idempotency-Key", "\(number)")])
            #expect(sent.status == 201)
        }
        let release = #"{"to":"waiting","person":{"id":"lea"}}"#
        #expect(try await server.api(path + "/release", method: "POST", body: release).status == 200)
        #expect(await eventually { (try? lines(server.directory))?.count == 4 })
        await server.stop()
        let found = try lines(server.directory)
        #expect(found.allSatisfy { $0["by"]?["token"]?.string != nil && $0["business"]?.string == "one" })
        let changes = found.map { line in
            let operation = line["command"]?.string?.split(separator: "/").last ?? ""
            return "\(operation) \(line["result"]?.string ?? "") \(line["assigned"]?.string ?? "-")"
        }
        // A line is written after the answer, so that two may change places.
        #expect(changes.sorted() == ["claim 200 ana", "claim 409 -", "messages 201 bob", "release 200 lea"])
    }

    @Test func `old lines are removed, and an entry is on disk when it was recorded`() async throws {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("data"))
        let log = LogCollector()
        let audit = AuditLog(dataDirectory: directory.file("data"), days: 730, logger: log.logger)
        for days in [731, 729, 1] {
            var entry = AuditLog.Entry("POST /x", by: .token("t\(days)"), result: "done")
            entry.at = Timestamp.now().advanced(by: .seconds(-86_400 * days))
            await audit.record(entry)
        }
        #expect(try lines(directory).count == 3)
        await audit.removeOld()
        #expect(try lines(directory).map { $0["by"]?["token"]?.string } == ["t729", "t1"])
        #expect(log.lines.isEmpty)
        let nowhere = AuditLog(dataDirectory: directory.file("none"), days: 730, logger: log.logger)
        await nowhere.record(AuditLog.Entry("POST /x", by: .user(nil), result: "done"))
        #expect(log.lines.contains { $0.contains("could not be written to the audit log") })
    }
}
