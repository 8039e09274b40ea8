import BalloonTransport
import Testing

@testable import GatewayClient

@Suite struct GatewayReasonTests {
    @Test(arguments: [
        ("", ""), ("404 Not Found : no device", ""),
        ("404 Not Found : No device registrations for user", "No device registrations for user"),
        ("No device registrations for user x\nmore", "No device registrations for user"),
        ("\nNo device registrations for user", ""),
    ])
    func `only a known reason is kept`(body: String, reason: String) {
        #expect(GatewayReason(Array(body.utf8)).description == reason)
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
