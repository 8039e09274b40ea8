import Testing

@testable import BalloonHTTP

@Suite struct ChunkedDecoderTests {
    @Test(arguments: [
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("2\r\nhe\r\n003\r\nllo\r\n000\r\n\r\n", "hello"),
        ("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"),
        ("1;a\r\nx\r\n0;b;c=d;e=\"f \\\" ;\"\r\n\r\n", "x"),
        ("1\r\nx\r\n0\r\nChecksum: 1\r\nOther:\r\n\r\n", "x"),
        ("4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"),
        ("0000000000000001\r\nx\r\n0\r\n\r\n", "x"),
    ])
    func `a valid chunked body is decoded with the same result for every split of its bytes`(
        _ coded: String, _ body: String
    ) {
        #expect(Set(outcomes(of: coded)) == [.body(body, rest: 0)])
        #expect(
            outcome(of: Array((coded + "GET /").utf8), endingAt: [coded.utf8.count + 5])
                == .body(body, rest: 5))
    }

    @Test(arguments: [
        "\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n", "1\t;a\r\n", "1; a\r\n", "1;\r\n",
        "1;a=\r\n", "1;=a\r\n", "1;a b\r\n", "1;a=\"b\r\n", "1;a=\"b\"c\r\n", "1;a=\"\u{0}\"\r\n", "1;é\r\n",
        "1;;a\r\n", "1\n", "1\rx", "1\r\nx\n", "1\r\nxx", "1\r\nx\rx", "1\r\nx0\r\n\r\n", "1;a\nx\r\n",
        "00000000000000001\r\n", "10000000000000000\r\n", "1\r\nx\r\n\r\n0\r\n\r\n", "1,1\r\n", "1.0\r\n",
        "0\r\n\n", "0\n\r\n", "0\r\nX\r\n", "0\r\n: a\r\n", "0\r\n X: a\r\n", "0\r\nX : a\r\n",
        "0\r\nX: a\n\r\n",
        "0\r\nX: \u{1}\r\n", "0\r\nX: a\r\n b\r\n", "0\r\nContent-Length: 1\r\n",
        "0\r\ntransfer-encoding: chunked\r\n",
        "0\r\nHost: a\r\n", "0\r\nAuthorization: a\r\n", "0\r\nX: a\r\nTrailer: a\r\n",
    ])
    func `an invalid chunked body is refused with the same reason for every split of its bytes`(
        _ coded: String
    ) {
        #expect(Set(outcomes(of: coded)) == [.refused(.malformedChunk)])
    }

    @Test(arguments: [
        "b\r\n", "5\r\nhello\r\n6\r\n", "ffffffff\r\n", "100000000\r\n", "ffffffffffffffff\r\n",
        "7fffffffffffffff\r\n", "8000000000000000\r\n",
    ])
    func `a body over its maximum is refused before it is read`(_ coded: String) {
        #expect(Set(outcomes(of: coded, maximumBytes: 10)) == [.refused(.bodyTooLarge)])
    }

    @Test func `a body of the maximum size is accepted`() {
        #expect(
            Set(outcomes(of: "5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n", maximumBytes: 10))
                == [.body("hellohello", rest: 0)])
    }

    @Test func `chunk extensions and trailers are accepted up to their limit`() {
        let trailer = { (count: Int) in
            Array("0\r\nX: \(String(repeating: "a", count: count - 3))\r\n\r\n".utf8)
        }
        let maximum = ChunkedDecoder.maximumOverheadBytes
        let allowed = trailer(maximum)
        #expect(outcome(of: allowed, endingAt: [allowed.count]) == .body("", rest: 0))
        let tooMuch = trailer(maximum + 1)
        #expect(outcome(of: tooMuch, endingAt: [tooMuch.count]) == .refused(.malformedChunk))
        // Each chunk has an extension of three bytes: together they exceed the limit.
        let chunks = Array(String(repeating: "1;a=b\r\nx\r\n", count: maximum / 3).utf8)
        #expect(
            outcome(of: chunks, endingAt: [chunks.count], maximumBytes: maximum) == .refused(.malformedChunk))
    }

    private enum Outcome: Hashable {
        case body(String, rest: Int)
        case refused(HTTPRefusal)
        case incomplete
    }

    private func outcome(of bytes: [UInt8], endingAt ends: [Int], maximumBytes: Int = 100) -> Outcome {
        var decoder = ChunkedDecoder()
        var body: [UInt8] = []
        var cursor = 0
        for end in ends {
            do {
                try decoder.decode(bytes, &cursor, to: end, into: &body, maximumBytes: maximumBytes)
            } catch {
                return .refused(error)
            }
            if decoder.isFinished {
                return .body(String(decoding: body, as: UTF8.self), rest: bytes.count - cursor)
            }
        }
        return .incomplete
    }

    private func outcomes(of text: String, maximumBytes: Int = 100) -> [Outcome] {
        let bytes = Array(text.utf8)
        let single = outcome(of: bytes, endingAt: Array(1...bytes.count), maximumBytes: maximumBytes)
        return [single]
            + (0..<bytes.count).map {
                outcome(of: bytes, endingAt: [$0, bytes.count], maximumBytes: maximumBytes)
            }
    }
}
