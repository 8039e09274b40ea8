import BalloonTransport
import Testing

@testable import GatewayClient

@Suite struct GatewayReasonTests {
    @Test(arguments: [
        ("", ""), ("404 Not Found : no device\r\nmore", "404 Not Found : no device"), ("\nsecond", ""),
        ("a\u{0}b\u{1b}[31mc\u{202e}d", "a b [31mc d"), ("für alle 🎉", "für alle 🎉"),
        (String(repeating: "x", count: 201), String(repeating: "x", count: 200)),
        (String(repeating: "é", count: 101), String(repeating: "é", count: 100)),
    ])
    func `Apple's reason is reduced to one short, printable line`(body: String, reason: String) {
        #expect(GatewayReason(Array(body.utf8)).description == reason)
    }

    @Test func `bytes that are not UTF-8 become replacement characters`() {
        #expect(GatewayReason([0xff, 0x41]).description == "\u{fffd}A")
    }

    @Test func `a value to hide is replaced before the reason is shortened`() {
        let reason = GatewayReason(
            Array((String(repeating: "x", count: 198) + "secret").utf8), hiding: ["secret", ""])
        #expect(reason.description == String(repeating: "x", count: 198))
    }

    @Test(
        arguments: [
            (
                .unreachable(.message, .connectionFailed, attempts: 4),
                "message failed at attempt 4: the connection was refused"
            ),
            (.unavailable(.upload, status: 503, attempts: 2), "upload was answered with 503 at attempt 2"),
            (
                .downloadRefused(.port, host: "a.example:8443"),
                "Apple named an address that is not allowed: its port is not 443"
            ),
            (.lengthMismatch(expectedBytes: 2, actualBytes: 1), "1 bytes arrived instead of 2"),
        ] as [(GatewayError, String)])
    func `each gateway error has a description in words`(error: GatewayError, text: String) {
        #expect("\(error)" == text)
    }
}
