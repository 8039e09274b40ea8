import BalloonHTTP
import BalloonPOSIX
import BalloonTransport
import TestSupport
import Testing

@testable import MessageServer

/// Jobs that run longer than the request that starts them waits.
struct ControlJobTests {
    private let transport: CurlTransport
    private let http: HTTPServer
    private let address: String
    /// Yielding a value ends the job.
    private let gate: AsyncStream<Void>.Continuation
    private let runs = Counter()

    private actor Counter {
        private(set) var count = 0
        func add() { count += 1 }
    }

    init() async throws {
        transport = try CurlTransport()
        let jobs = ControlJobs(patience: .milliseconds(1))
        let (gates, gate) = AsyncStream<Void>.makeStream()
        self.gate = gate
        http = try HTTPServer(
            listeners: [
                HTTPListener(
                    .tcp(host: "127.0.0.1", port: 0),
                    routes: [
                        HTTPRoute(.post, "/change", body: .collected(maximumBytes: 1024)) {
                            [runs] request, responder in
                            guard let id = ControlJobs.id(in: Array(request.body)) else {
                                return HTTPResponse(.badRequest, text: "no\n")
                            }
                            jobs.run(id, responder) {
                                await runs.add()
                                for await _ in gates { break }
                                return HTTPResponse(.ok, text: "changed\n")
                            }
                            return nil
                        },
                        HTTPRoute(.get, "/jobs/*") { request, responder in
                            jobs.wait(
                                for: String(decoding: request.path.dropFirst(6), as: UTF8.self), responder)
                            return nil
                        },
                    ])
            ], shards: 1, logger: LogCollector().logger)
        address = "http://\(try await http.start()[0])"
    }

    private func post(_ body: String) async throws -> TransportResponse {
        try await transport.send(
            TransportRequest(
                method: "POST", url: address + "/change", body: Array(body.utf8), allowsPlainHTTP: true))
    }

    private func get(_ id: String) async throws -> TransportResponse {
        try await transport.send(TransportRequest(url: address + "/jobs/" + id, allowsPlainHTTP: true))
    }

    @Test
    func `a long change is answered with 202, and its result is the answer of the next request`()
        async throws
    {
        let first = try await post(#"{"job":"a1"}"#)
        #expect(first.status == 202)
        #expect(first.body == Array(#"{"job":"a1"}"#.utf8))
        #expect(try await get("a1").status == 202)
        // The same identifier means the same job.
        #expect(try await post(#"{"job":"a1"}"#).status == 202)
        gate.yield()
        var answer = try await get("a1")
        while answer.status == 202 { answer = try await get("a1") }
        #expect(answer.status == 200)
        #expect(try await post(#"{"job":"a1"}"#).body == Array("changed\n".utf8))
        #expect(await runs.count == 1)
        await http.stop(within: .seconds(1))
    }

    @Test func `an unknown job is not found, and an invalid identifier is refused`() async throws {
        #expect(try await get("b2").status == 404)
        #expect(try await post(#"{"job":"../x"}"#).status == 400)
        #expect(try await post(#"{"job":7}"#).status == 400)
        await http.stop(within: .seconds(1))
    }
}
