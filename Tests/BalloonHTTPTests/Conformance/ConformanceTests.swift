import BalloonPOSIX
import TestSupport
import Testing

@testable import BalloonHTTP

/// Every case of `Fixtures/conformance`: over sockets against the server, and with the parser alone.
@Suite struct ConformanceTests {
    static let files = Fixture.names(in: "conformance")

    static func cases(_ file: String) throws -> [ConformanceCase] {
        try ConformanceCase.read(
            String(decoding: Fixture.bytes("conformance/" + file), as: UTF8.self), file: file)
    }

    @Test func `there are at least 900 conformance cases, and no two have the same name`() throws {
        let all = try Self.files.flatMap { try Self.cases($0) }
        #expect(all.count >= 900)
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(Set(all.map(\.bytes)).count >= all.count - 20)
    }

    @Test(arguments: files)
    func `the server has the wanted outcome of each case, sent in one and in two writes`(_ file: String)
        async throws
    {
        let cases = try Self.cases(file)
        try await withServer(Self.routes) { server in
            guard case .tcp(let host, let port) = server.address else { return }
            let client = ConformanceClient(host: host, port: port)
            let problems = try await onThread {
                cases.flatMap { item in
                    Self.problems(item, client.play(item), isWhole: true)
                        + Self.problems(item, client.play(item, split: item.bytes.count / 2), isWhole: false)
                }
            }
            for problem in problems { Issue.record("\(file): \(problem)") }
        }
    }

    @Test(arguments: files)
    func `the parser has the same result for every split of each case`(_ file: String) throws {
        for item in try Self.cases(file) {
            let count = item.bytes.count
            guard count > 0 else { continue }
            let whole = ConformanceReading(item.bytes, pieces: [count])
            let step = count < 2000 ? 1 : count / 9
            var splits = stride(from: 1, to: count, by: step).map { [$0, count] }
            if count < 2000 { splits.append(Array(1...count)) }
            for pieces in splits where ConformanceReading(item.bytes, pieces: pieces) != whole {
                Issue.record(
                    "\(file): \(item.name): parsed differently in pieces that end at \(pieces.prefix(3))")
            }
            if let status = whole.refusal?.status.code {
                let isWanted = item.outcomes[0].answers.last?.status == status
                if !isWanted, item.outcomes[0].end != .wait, !whole.mayBeAnsweredBefore {
                    Issue.record("\(file): \(item.name): refused with \(status)")
                }
            }
        }
    }

    private static func problems(
        _ item: ConformanceCase, _ observation: ConformanceClient.Observation?, isWhole: Bool
    ) -> [String] {
        guard let observation else { return ["\(item.name): no connection"] }
        var problems: [String] = []
        let (wanted, seen) = (item.outcomes[0], observation.outcome)
        let isRight =
            isWhole ? wanted.matches(seen) : wanted.withoutInterim.matches(seen.withoutInterim)
        if !isRight { problems.append("\(seen) instead of \(wanted)") }
        if observation.isReset { problems.append("the connection was reset") }
        for (header, answer) in zip(observation.headers, seen.answers) where answer.status >= 200 {
            if !header.contains("\r\nDate: ") { problems.append("an answer without Date") }
            if header.contains("evil") { problems.append("an answer that repeats the client's bytes") }
            let framings = header.ranges(of: "Content-Length:").count + header.ranges(of: "chunked").count
            if framings != (answer.status == 204 ? 0 : 1) { problems.append("\(framings) framings") }
        }
        let saysClose = observation.headers.last?.contains("\r\nConnection: close\r\n")
        if seen.end == .close, saysClose == false { problems.append("closed without announcing it") }
        return problems.map { "\(item.name) (\(isWhole ? "whole" : "in two writes")): \($0)" }
    }

    private static let routes = [
        HTTPRoute(.get, "/") { _, _ in HTTPResponse(.ok, text: "root") },
        HTTPRoute(.get, "/next") { _, _ in HTTPResponse(.ok, text: ConformanceClient.next) },
        HTTPRoute(.get, "/evil") { _, _ in HTTPResponse(.ok, text: "evil") },
        HTTPRoute(.get, "/below/*") { _, _ in HTTPResponse(.ok, text: "below") },
        HTTPRoute(.get, "/later") { _, responder in
            Task.detached { responder.respond(HTTPResponse(.ok, text: "later")) }
            return nil
        },
        HTTPRoute(.post, "/echo", body: .collected(maximumBytes: ConformanceReading.maximumBodyBytes)) {
            request, _ in HTTPResponse(.ok, body: Array(request.body))
        },
    ]
}
