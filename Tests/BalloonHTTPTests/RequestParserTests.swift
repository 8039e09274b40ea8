import TestSupport
import Testing

@testable import BalloonHTTP

@Suite struct RequestParserTests {
    @Test(arguments: goodRequests)
    func `a valid header is parsed with the same result for every split of its bytes`(_ request: GoodRequest)
        throws
    {
        let outcomes = Set(outcomes(of: request.text))
        #expect(outcomes.count == 1)
        guard case .head(let head) = outcomes.first else {
            Issue.record("\(String(describing: outcomes.first))")
            return
        }
        let bytes = Array(request.text.utf8)
        #expect(text(bytes, head.path) == request.path)
        #expect(head.query.map { text(bytes, $0) } == request.query)
        #expect(head.method == request.method)
        #expect(head.framing == request.framing)
        #expect(head.isPersistent == request.isPersistent)
        #expect(head.length == request.text.utf8.count)
    }

    @Test(arguments: badRequests)
    func `an invalid header is refused with the same reason for every split of its bytes`(
        _ request: BadRequest
    ) {
        #expect(Set(outcomes(of: request.text)) == [.refused(request.refusal)])
    }

    @Test func `every prefix of a valid header is reported as incomplete`() {
        let request = "POST /a?b=c HTTP/1.1\r\nHost: a.example:80\r\nContent-Length: 3\r\n\r\n"
        for length in 0..<request.utf8.count {
            #expect(outcome(of: Array(request.utf8.prefix(length)), endingAt: [length]) == .incomplete)
        }
    }

    @Test func `a parsed header's offsets count from the request's first byte, wherever it is in the buffer`()
        throws
    {
        let before = "GET / HTTP/1.1\r\nHost: b\r\n\r\n"
        let request = "GET /path HTTP/1.1\r\nHost: a\r\n\r\n"
        var parser = RequestParser()
        let bytes = Array((before + request).utf8)
        let isWhole = try parser.parse(bytes, from: before.utf8.count, to: bytes.count, HTTPLimits())
        #expect(isWhole)
        #expect(parser.head.path == 4..<9)
        #expect(parser.head.length == request.utf8.count)
    }

    @Test func `a reset parser has no state of the previous request`() throws {
        var parser = RequestParser()
        let first = Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\n".utf8)
        #expect(try parser.parse(first, from: 0, to: first.count, HTTPLimits()))
        parser.reset()
        let second = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        #expect(try parser.parse(second, from: 0, to: second.count, HTTPLimits()))
        var fresh = RequestParser()
        #expect(try fresh.parse(second, from: 0, to: second.count, HTTPLimits()))
        #expect(parser.head == fresh.head)
    }

    @Test func `a randomly damaged request has the same result for every split`() {
        var random = SeededGenerator(seed: 1)
        let request = Array(
            "POST /a?b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n".utf8
        )
        for _ in 0..<2000 {
            var bytes = request
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            let split = Int.random(in: 0..<bytes.count, using: &random)
            let whole = outcome(of: bytes, endingAt: [bytes.count])
            #expect(outcome(of: bytes, endingAt: [split, bytes.count]) == whole)
            #expect(outcome(of: bytes, endingAt: Array(1...bytes.count)) == whole)
        }
    }

    private func text(_ bytes: [UInt8], _ range: Range<UInt32>) -> String {
        String(decoding: bytes[Int(range.lowerBound)..<Int(range.upperBound)], as: UTF8.self)
    }
}

/// The result of parsing bytes.
enum ParserOutcome: Hashable {
    case head(RequestHead)
    case refused(HTTPRefusal)
    case incomplete
}

func outcome(
    of bytes: [UInt8], endingAt ends: [Int], _ limits: HTTPLimits = HTTPLimits()
) -> ParserOutcome {
    var parser = RequestParser()
    for end in ends {
        do {
            // The parser must not read bytes after `end`.
            let isWhole = try parser.parse(Array(bytes[..<end]), from: 0, to: end, limits)
            if isWhole { return .head(parser.head) }
        } catch {
            return .refused(error)
        }
    }
    return .incomplete
}

/// The outcomes for the complete input, byte by byte, and at every split.
func outcomes(of text: String, _ limits: HTTPLimits = HTTPLimits()) -> [ParserOutcome] {
    let bytes = Array(text.utf8)
    let whole = outcome(of: bytes, endingAt: [bytes.count], limits)
    let single = outcome(of: bytes, endingAt: Array(1...bytes.count), limits)
    return [whole, single]
        + (1..<bytes.count).map { outcome(of: bytes, endingAt: [$0, bytes.count], limits) }
}
