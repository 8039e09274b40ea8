import BalloonHTTP
import BalloonJSON
import BalloonTransport
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// Dead letters, replies and handlers over the API.
@Suite struct DeliveryOperationTests {
    private static let base = "/v1/businesses/one/"

    /// A server whose handler rejects every text, with `count` dead letters.
    private func server(_ count: Int) async throws -> (ServerUnderTest, [Int]) {
        let server = try await ServerUnderTest.withAPI(RejectingHandler())
        let customer = server.customer()
        for number in 0..<count {
            _ = try await customer.post(
                customer.message(.text, id: MessageID("m-\(number)"), text: "secret text"))
        }
        for number in 0..<count {
            // The wait ends when the delivery has ended, and its end is in the journal's file.
            _ = try await server.control(
                DeliveryAnswer.target(MessageID("m-\(number)"), to: customer.business, waiting: 20))
        }
        let list = try await server.api(Self.base + "deliveries?status=rejected").json["deliveries"]
        return (server, try #require(list?.elements.compactMap { $0["record"]?.int }))
    }

    @Test func `dead letters are listed without their content, replayed once and dropped once`() async throws
    {
        let (server, records) = try await server(3)
        #expect(records == records.sorted(by: >))
        let first = try await server.api(Self.base + "deliveries?status=dead&limit=2")
        #expect(!String(decoding: first.body, as: UTF8.self).contains("secret text"))
        let link = try #require(first.header("Link"))
        let next = String(link.dropFirst().prefix { $0 != ">" })
        let second = try await server.api(next)
        #expect(try second.json["deliveries"]?.elements.compactMap { $0["record"]?.int } == [records[2]])
        #expect(second.header("Link") == nil)
        let moved = next.replacing("status=dead", with: "status=failed")
        #expect(try await server.api(moved).problem == "bad-cursor")

        let body = #"{"records":[\#(records[0]),\#(records[0]),999999]}"#
        let replay = { try await server.api(Self.base + "deliveries/replay", method: "POST", body: body) }
        let results = try await replay().json["results"]?.elements.map { $0["result"]?.string }
        #expect(results == ["replayed", "unknown"])
        let again = try await replay()
        #expect(
            try again.json["results"]?.elements.map { $0["result"]?.string } == [
                "alreadyReplayed", "unknown",
            ])
        let drop = {
            try await server.api(
                Self.base + "deliveries/drop", method: "POST", body: #"{"records":[\#(records[1])]}"#)
        }
        #expect(try await drop().json["results"]?[0]?["result"]?.string == "dropped")
        #expect(try await drop().json["results"]?[0]?["result"]?.string == "alreadyDropped")
        let dead = try await server.api(Self.base + "deliveries?status=dead").json["deliveries"]
        let left = dead?.elements.compactMap { $0["record"]?.int }.filter { records.contains($0) }
        #expect(left == [records[2]])
        let delivery = try await server.api(Self.base + "deliveries/\(records[0])")
        #expect(try delivery.json["replayedAs"]?.int != nil)
        #expect(try delivery.json["status"]?.string == "retried")
        #expect(server.log.lines.contains { $0.contains("API change") && $0.contains("all") })
        await server.stop(secrets: ["secret text", "bln_"])
    }

    @Test func `handled deliveries are listed too, and new dead letters are counted at once`() async throws {
        let handled = try await ServerUnderTest.withAPI()
        let customer = handled.customer()
        _ = try await customer.post(customer.message(.text, id: MessageID("m-1")))
        _ = try await handled.control(
            DeliveryAnswer.target(MessageID("m-1"), to: customer.business, waiting: 20))
        let list = try await handled.api(Self.base + "deliveries?status=handled").json["deliveries"]
        #expect(list?[0]?["message"]?.string == "m-1")
        let record = try #require(list?[0]?["record"]?.int)
        let delivery = try await handled.api(Self.base + "deliveries/\(record)").json
        #expect(delivery["replies"]?[0]?["status"]?.string == "accepted")
        await handled.stop()

        let (server, records) = try await server(2)
        let counts = { try await server.api("/v1/businesses").json["businesses"]?[0]?["counts"] }
        #expect(try await counts()?["deadLetters"]?.int == 2)
        _ = try await server.api(
            Self.base + "deliveries/drop", method: "POST", body: #"{"records":[\#(records[0])]}"#)
        #expect(try await counts()?["deadLetters"]?.int == 1)
        await server.stop()
    }

    @Test func `a refused answer is listed and shown with its problems`() async throws {
        let server = try await ServerUnderTest.withAPI(MistakenHandler())
        let customer = server.customer()
        _ = try await customer.post(customer.message(.text, id: MessageID("m-1"), text: "secret text"))
        _ = try await server.control(
            DeliveryAnswer.target(MessageID("m-1"), to: customer.business, waiting: 20))
        let list = try await server.api(Self.base + "deliveries?status=dead").json["deliveries"]
        let record = try #require(list?[0]?["record"]?.int)
        let delivery = try await server.api(Self.base + "deliveries/\(record)").json
        for shown in [list?[0], delivery] {
            #expect(shown?["problems"]?.count == 1)
            let problem = shown?["problems"]?[0]
            #expect(problem?["rule"]?.string == "quickReplyCount")
            #expect(problem?["pointer"]?.string == "/interactiveData/data/quick-reply/items")
            #expect(problem?["found"]?.string == "0 items")
            #expect(problem?["allowed"]?.string == "2 to 5 items")
            #expect(problem?["passage"]?.string == "Apple MSP API, \"Quick Reply Message\"")
        }
        #expect(server.log.lines.contains { $0.contains("/interactiveData/data/quick-reply/items") })
        await server.stop(secrets: ["secret text"])
    }

    @Test func `records of another business are unknown`() async throws {
        let (server, records) = try await server(1)
        let path = "/v1/businesses/two/deliveries"
        let answer = try await server.api(
            path + "/replay", method: "POST", body: #"{"records":[\#(records[0])]}"#)
        #expect(try answer.json["results"]?[0]?["result"]?.string == "unknown")
        #expect(try await server.api(path + "/\(records[0])").status == 404)
        #expect(try await server.api(path).json["deliveries"]?.count == 0)
        await server.stop()
    }

    @Test(arguments: [
        ("", "bad-json"), ("[", "bad-json"), ("[]", "bad-json"), ("{}", "bad-member"),
        (#"{"records":[]}"#, "bad-member"), (#"{"records":["1"]}"#, "bad-member"),
        (#"{"records":[-1]}"#, "bad-member"), (#"{"records":[9007199254740992]}"#, "bad-member"),
        (#"{"records":[1],"all":true}"#, "unknown-member"),
        (#"{"records":[1],"records":[2]}"#, "bad-member"),
    ])
    func `an invalid body is refused, and the answer names the place`(body: String, problem: String)
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        let answer = try await server.api(Self.base + "deliveries/replay", method: "POST", body: body)
        #expect(answer.status == 400 && answer.problem == problem)
        #expect(try answer.json["line"]?.int == 1)
        #expect(try answer.json["pointer"]?.string != nil)
        await server.stop()
    }

    @Test func `an unsent reply is listed, retried once and dropped, and another business does not find it`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer()
        server.gateway.misbehave(at: .message, .answer(.badRequest))
        _ = try await customer.post(customer.message(.text))
        #expect(await eventually { server.stages.events.contains { $0.stage == .reply } })
        let list = try await server.api(Self.base + "replies?status=refused").json["replies"]
        let reply = try #require(list?[0]?["id"]?.string)
        let two = "/v1/businesses/two/replies/\(reply)/retry"
        #expect(try await server.api(two, method: "POST").status == 404)
        #expect(try await server.api(Self.base + "replies/0/drop", method: "POST").status == 404)
        let retry = { try await server.api(Self.base + "replies/\(reply)/retry", method: "POST") }
        #expect(try await retry().json["result"]?.string == "retried")
        #expect(try await retry().json["result"]?.string == "alreadyRetried")
        let dropped = try await server.api(Self.base + "replies/\(reply)/drop", method: "POST")
        #expect(dropped.status == 409 && dropped.problem == "conflict")
        await server.stop()
    }

    @Test func `a handler inside the server cannot be restarted and has no log`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let restart = try await server.api(Self.base + "handler/restart", method: "POST")
        #expect(restart.status == 409 && restart.problem == "conflict")
        #expect(try await server.api(Self.base + "handler/log").status == 409)
        #expect(try await server.api(Self.base + "handler/log", TestTokens.reader).status == 403)
        await server.stop()
    }
}

/// A handler that asks without choices.
private struct MistakenHandler: TextHandler {
    func text(_: Text, _ context: Context) throws -> Outcome {
        .handled([.quickReply(try QuickReplyRequest(summary: "Collect?", items: []))])
    }
}

private struct RejectingHandler: TextHandler {
    func text(_: Text, _ context: Context) -> Outcome { .reject(reason: "no") }
}
