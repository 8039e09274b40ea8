import BalloonPOSIX
import BalloonTransport
import Testing

@testable import GatewayClient

@Suite struct SendDecisionTests {
    private static let known = "No device registrations for user"

    private func refused(_ call: GatewayCall, _ status: Int) -> SendDecision {
        SendDecision(
            .refused(call, status: status, reason: GatewayReason(Array("404 Not Found : \(Self.known)".utf8)))
        )
    }

    @Test(arguments: [400, 404, 413, 405, 422])
    func `a reply is refused when the status concerns the message`(_ status: Int) {
        #expect(refused(.message, status) == .refused(status: status, reason: Self.known))
    }

    @Test(arguments: [GatewayCall.message, .authenticate, .preUpload, .encodePayload], [401, 403])
    func `401 and 403 of the gateway concern the credential`(_ call: GatewayCall, _ status: Int) {
        #expect(refused(call, status) == .credentialRefused(status: status, reason: Self.known))
    }

    @Test(arguments: [401, 403])
    func `a reply waits and is retried after 401 or 403 from an upload host`(_ status: Int) {
        guard case .wait(_, nil, isOutage: false) = refused(.upload, status) else {
            Issue.record("\(refused(.upload, status))")
            return
        }
    }

    @Test(arguments: [301, 302, 407])
    func `a status that the gateway never sends counts as an outage`(_ status: Int) {
        guard case .wait(_, nil, isOutage: true) = refused(.message, status) else {
            Issue.record("\(refused(.message, status))")
            return
        }
    }

    @Test(arguments: [408, 429, 500, 503])
    func `after a transient failure, a reply waits for as long as the gateway asks`(_ status: Int) {
        let error = GatewayError.unavailable(.message, status: status, attempts: 1, retryAfter: .seconds(7))
        #expect(
            SendDecision(error) == .wait(reason: "\(error)", atLeast: .seconds(7), isOutage: true))
        let upload = GatewayError.unavailable(.upload, status: status, attempts: 1)
        #expect(SendDecision(upload) == .wait(reason: "\(upload)", atLeast: nil, isOutage: false))
    }

    @Test(arguments: [
        TransportError.hostUnresolved, .connectionFailed, .tlsFailed(code: 1), .timedOut,
        .interrupted(code: 1), .failed(code: 1), .certificateRefused, .schemeRefused, .addressRefused,
    ])
    func `a network failure counts as an outage`(_ failure: TransportError) {
        let error = GatewayError.unreachable(.message, failure, attempts: 1)
        #expect(SendDecision(error) == .wait(reason: "\(error)", atLeast: nil, isOutage: true))
    }

    @Test(arguments: [
        GatewayError.payloadTooLarge(maximumBytes: 1), .referenceMalformed(field: "key"),
        .unreachable(.message, .requestInvalid, attempts: 1),
        .unreachable(.message, .responseTooLarge(maximumBytes: 1), attempts: 1),
    ])
    func `a reply is refused when sending finds it invalid`(_ error: GatewayError) {
        #expect(SendDecision(error) == .refused(status: nil, reason: "\(error)"))
    }

    @Test(arguments: [
        GatewayError.answerMalformed(.preUpload), .downloadRefused(.host, host: "a.example"),
        .lengthMismatch(expectedBytes: 1, actualBytes: 2), .deadlineExceeded,
        .unreachable(.upload, .contentFailed, attempts: 1), .notKept(SystemError("write", code: 5)),
    ])
    func `after a file error, a reply waits, and no outage is assumed`(_ error: GatewayError) {
        #expect(SendDecision(error) == .wait(reason: "\(error)", atLeast: nil, isOutage: false))
    }

    @Test func `a cancelled attempt leaves the reply queued`() {
        #expect(SendDecision(.cancelled) == .interrupted)
        #expect(SendDecision(.unreachable(.message, .cancelled, attempts: 1)) == .interrupted)
    }
}
