import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import HandlerProtocol
import MessageServer
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges

/// No text that a customer wrote, and that a handler's refused answer repeats, reaches a log line, a reason in
/// the journal, or a metric.
struct CustomerTextTests {
    /// The marks that the customer wrote: a word and a number.
    private static let marks = ["Mark77word", "7700123456"]

    /// The answers of a service, each refused or failed; `WORD` and `NUMBER` stand for the marks.
    private static let answers: [(status: Int, body: String)] = [
        (500, "no such order: WORD"), (302, "WORD"), (404, "WORD NUMBER"), (429, "WORD"), (503, "WORD"),
        (200, "WORD"), (200, "NUMBER"), (200, #""WORD""#), (200, #"["WORD"]"#),
        (200, #"{"WORD":NUMBER}"#), (200, #"{"outcome":"WORD"}"#), (200, #"{"outcome":NUMBER}"#),
        (200, #"{"outcome":"rejected","reason":NUMBER}"#),
        (200, #"{"outcome":"rejected","reason":{"WORD":1}}"#),
        (200, #"{"retryAfterMs":"WORD","outcome":"retry"}"#), (200, #"{"state":NUMBER}"#),
        (200, #"{"state":"WORD"}"#), (200, #"{"replies":NUMBER}"#), (200, #"{"replies":["WORD",NUMBER]}"#),
        (200, #"{"replies":[{"type":"WORD"}]}"#), (200, #"{"replies":[{"type":NUMBER}]}"#),
        (200, #"{"replies":[{"type":"text","body":NUMBER}]}"#),
        (200, #"{"replies":[{"type":"text","body":"a","WORD":NUMBER}]}"#),
        (200, #"{"replies":[{"type":"text","body":"a","locale":"WORD"}]}"#),
        (200, #"{"replies":[{"type":"text","body":"a","attachments":[{"path":"WORD"}]}]}"#),
        (200, #"{"replies":[{"type":"text","body":"a","attachments":[{"path":"/WORD/NUMBER"}]}]}"#),
        (200, #"{"replies":[{"type":"text","body":"a","attachments":[{"file":"WORD"}]}]}"#),
        (200, #"{"replies":[{"type":"interactive","WORD":{"WORD":NUMBER}}]}"#),
        (
            200,
            #"{"replies":[{"type":"interactive","interactiveData":{"bid":"WORD","data":{"WORD":NUMBER}}}]}"#
        ),
        (200, #"{"replies":[{"payment":{"currency":"WORD","total":NUMBER,"WORD":NUMBER}}]}"#),
        (200, #"{"replies":[{"signIn":{"title":NUMBER,"WORD":"WORD"}}]}"#),
    ]

    @Test(arguments: answers)
    func `no refused or failed answer of a service is quoted`(status: Int, body: String) async throws {
        let text = body.replacing("WORD", with: Self.marks[0]).replacing("NUMBER", with: Self.marks[1])
        let code = try #require(HTTPStatus(code: status))
        let hook = HTTPRoute(.post, "/", body: .collected(maximumBytes: 1 << 20)) { _, _ in
            HTTPResponse(code, text: text)
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let origin = "http://\(try await service.start()[0])/"
        let server = try await ServerUnderTest(bindings: [
            #"{"http": {"url": "\#(origin)", "secret": {"env": "HOOK"}}}"#
        ]) { $0.adminListen = .required(.tcp(host: "127.0.0.1", port: 0)) }
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.stages.first { $0.stage == .handle || $0.stage == .finish }
        let admin = try #require(server.adminURL)
        let metrics = try await server.transport.send(
            TransportRequest(url: admin + "/metrics", allowsPlainHTTP: true))
        let reasons = try JournalFiles(dataDirectory: server.directory.file("data")).events { _ in true }
            .compactMap(\.reason)
        await server.stop(secrets: Self.marks)
        await service.stop(within: .zero)
        for mark in Self.marks {
            #expect(!reasons.contains { $0.contains(mark) }, "\(reasons)")
            #expect(!String(decoding: metrics.body, as: UTF8.self).contains(mark))
        }
    }

    @Test func `a text of one enormous character is cut in each place that keeps a part of it`() throws {
        // One character: a letter with 600,000 combining marks.
        let huge = "e" + String(repeating: "\u{301}", count: 600_000)
        for member in [#""outcome":"\#(huge)""#, #""\#(huge)":1"#, #""replies":[{"\#(huge)":1}]"#] {
            let answer = try JSONDocument(Array("{\(member)}".utf8)).root
            let refusal = try #require(
                #expect(throws: AnswerRefusal.self) { try EventAnswer.outcome(answer) })
            #expect(refusal.reason.utf8.count < 500)
            #expect(refusal.problems.allSatisfy { $0.found.utf8.count < 100 })
        }
        let rejected = try JSONDocument(Array(#"{"outcome":"reject","reason":"\#(huge)"}"#.utf8)).root
        guard case .reject(let reason) = try EventAnswer.outcome(rejected) else {
            Issue.record("not rejected")
            return
        }
        #expect(reason.utf8.count <= Outcome.maximumReasonBytes)
    }
}
