import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// A request that an expectation may change.
private final class Changing {
    var request: OpenRequest

    init(_ request: OpenRequest) { self.request = request }

    var phase: OpenRequest.Phase { request.phase }
    var payload: [UInt8]? { request.payload }
    var result: [UInt8]? { request.result }
    var copy: Changing { Changing(request) }

    func accept(at now: Timestamp) { request.accept(at: now) }
    func consume(at now: Timestamp) -> Bool { request.consume(at: now) }
    func record(_ result: [UInt8], confirmation: String?, at now: Timestamp) -> Bool {
        request.record(result, confirmation: confirmation, at: now)
    }
    func confirm(_ confirmation: String, at now: Timestamp) -> Bool {
        request.confirm(confirmation, at: now)
    }
    func release(to customer: CustomerID, by event: MessageID, at now: Timestamp) -> OpenRequest.Release {
        request.release(to: customer, by: event, at: now)
    }
    func begin(for customer: CustomerID, by event: MessageID, at now: Timestamp) -> OpenRequest.Begin {
        request.begin(for: customer, by: event, at: now)
    }
    func end(with result: [UInt8], by event: MessageID) { request.end(with: result, by: event) }
}

struct OpenRequestTests {
    private static let start = Timestamp(milliseconds: 1_700_000_000_000)
    private static let customer = CustomerID("urn:mbid:a")

    private static func at(_ seconds: Int) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    private func waiting() -> Changing {
        Changing(
            OpenRequest(
                .signIn, business: BusinessID("b"), customer: Self.customer, requestIdentifier: "r",
                entry: ReplyID(record: 57, index: 0), payload: Array(#"{"state":"s"}"#.utf8),
                stateLifetime: .seconds(600), releaseLifetime: .seconds(120), at: Self.start))
    }

    /// A request that was accepted at 10 s and used at 20 s.
    private func consumed() -> Changing {
        let request = waiting()
        request.accept(at: Self.at(10))
        #expect(request.consume(at: Self.at(20)))
        return request
    }

    @Test func `an event of version 1 gets the payload until it ends, and its result afterwards`() {
        let (event, other) = (MessageID("e"), MessageID("f"))
        let payload = OpenRequest.Begin.payload(Array(#"{"state":"s"}"#.utf8))
        let request = waiting()
        request.accept(at: Self.at(10))
        #expect(request.begin(for: CustomerID("c"), by: event, at: Self.at(20)) == .ended(.unproven))
        #expect(request.begin(for: Self.customer, by: event, at: Self.at(20)) == payload)
        #expect(request.begin(for: Self.customer, by: event, at: Self.at(80_000)) == payload)
        #expect(
            request.begin(for: Self.customer, by: other, at: Self.at(29)) == .ended(.repetition(of: event)))
        #expect(request.begin(for: Self.customer, by: other, at: Self.at(30)) == .ended(.unproven))
        #expect(!request.consume(at: Self.at(30)))
        request.end(with: [2], by: other)
        #expect(request.phase == .consumed)
        request.end(with: [1], by: event)
        #expect(request.payload == nil)
        #expect(request.begin(for: Self.customer, by: event, at: Self.at(40)) == .ended(.result([1])))
        #expect(request.begin(for: Self.customer, by: event, at: Self.at(90_000)) == .ended(.expired))
    }

    @Test(arguments: [(609, true), (610, false)])
    func `an event of version 1 must arrive within the time from the gateway's acceptance`(
        seconds: Int, isInTime: Bool
    ) {
        let request = waiting()
        request.accept(at: Self.at(10))
        let begin = request.begin(for: Self.customer, by: MessageID("e"), at: Self.at(seconds))
        #expect((begin == .ended(.expired)) == !isInTime)
        #expect((request.payload == nil) == !isInTime)
    }

    @Test func `a request that its callback has used does not begin with an event of version 1`() {
        let request = consumed()
        let begin = request.begin(for: Self.customer, by: MessageID("e"), at: Self.at(30))
        #expect(begin == .ended(.result(nil)))
    }

    @Test func `the callback may use a request once, and its secrets are gone then`() {
        let request = waiting()
        request.accept(at: Self.at(10))
        #expect(request.payload != nil)
        #expect(request.consume(at: Self.at(20)))
        #expect(request.payload == nil)
        #expect(!request.consume(at: Self.at(20)))
    }

    @Test(arguments: [(609, true), (610, false)])
    func `the time to the callback counts from the gateway's first acceptance`(seconds: Int, isInTime: Bool) {
        let request = waiting()
        request.accept(at: Self.at(10))
        request.accept(at: Self.at(500))
        #expect(request.consume(at: Self.at(seconds)) == isInTime)
    }

    @Test
    func
        `a customer who is faster than the gateway's answer can use the request, and the acceptance changes nothing`()
    {
        let request = waiting()
        #expect(request.consume(at: Self.at(1)))
        request.accept(at: Self.at(2))
        #expect(request.phase == .consumed)
    }

    @Test(arguments: [(139, OpenRequest.Release.result([1])), (140, .expired)])
    func `the time to Apple's event counts from the callback`(seconds: Int, release: OpenRequest.Release) {
        let request = consumed()
        #expect(request.record([1], confirmation: nil, at: Self.at(30)))
        #expect(request.release(to: Self.customer, by: MessageID("m"), at: Self.at(seconds)) == release)
        #expect(request.result == (release == .expired ? nil : [1]))
    }

    @Test func `a result is recorded once, and not after its time`() {
        let request = consumed()
        let late = request.copy
        #expect(request.record([1], confirmation: nil, at: Self.at(139)))
        #expect(!request.record([2], confirmation: nil, at: Self.at(139)))
        #expect(!late.record([1], confirmation: nil, at: Self.at(140)))
    }

    @Test func `a result that was not confirmed is not released, and a confirmation works once`() {
        let request = consumed()
        #expect(request.record([1], confirmation: "c", at: Self.at(21)))
        let unconfirmed = request.copy
        #expect(unconfirmed.release(to: Self.customer, by: MessageID("m"), at: Self.at(22)) == .result(nil))
        #expect(!unconfirmed.confirm("c", at: Self.at(23)))
        #expect(!request.confirm("d", at: Self.at(22)))
        #expect(request.confirm("c", at: Self.at(22)))
        #expect(!request.confirm("c", at: Self.at(22)))
        #expect(request.release(to: Self.customer, by: MessageID("m"), at: Self.at(23)) == .result([1]))
    }

    @Test func `an event of another customer releases nothing and leaves the request as it was`() {
        let request = consumed()
        #expect(request.record([1], confirmation: nil, at: Self.at(21)))
        let before = request.request
        #expect(
            request.release(to: CustomerID("urn:mbid:b"), by: MessageID("m"), at: Self.at(22)) == .unproven)
        #expect(request.request == before)
    }

    @Test func `an event without a callback has no result and ends the request`() {
        let request = waiting()
        request.accept(at: Self.at(10))
        #expect(request.release(to: Self.customer, by: MessageID("m"), at: Self.at(20)) == .result(nil))
        #expect(!request.consume(at: Self.at(21)))
    }

    @Test
    func `the same event is released again, another one is a repetition for ten seconds, then unproven`() {
        let request = consumed()
        #expect(request.record([1], confirmation: nil, at: Self.at(21)))
        func release(_ event: String, _ seconds: Int) -> OpenRequest.Release {
            request.release(to: Self.customer, by: MessageID(event), at: Self.at(seconds))
        }
        #expect(release("m", 30) == .result([1]))
        #expect(release("n", 39) == .repetition(of: MessageID("m")))
        #expect(release("n", 40) == .unproven)
        #expect(release("m", 30 + 86_399) == .result([1]))
        #expect(release("m", 30 + 86_400) == .expired)
        #expect(request.result == nil)
    }

    @Test func `a file has the request as it was in every phase`() {
        var phases = [waiting().request]
        func next(_ change: (inout OpenRequest) -> Void) {
            var request = phases[phases.count - 1]
            change(&request)
            phases.append(request)
        }
        next { $0.accept(at: Self.at(10)) }
        next { _ = $0.consume(at: Self.at(20)) }
        next { _ = $0.record(Array(#"{"identity":{}}"#.utf8), confirmation: "c", at: Self.at(21)) }
        next { _ = $0.confirm("c", at: Self.at(22)) }
        next { _ = $0.release(to: Self.customer, by: MessageID("m"), at: Self.at(23)) }
        next { $0.expire(at: Self.at(24)) }
        #expect(
            phases.map(\.phase) == [.waiting, .open, .consumed, .recorded, .confirmed, .released, .expired])
        for request in phases {
            #expect(OpenRequestText.request(in: OpenRequestText.bytes(of: request)) == request)
        }
    }

    @Test(arguments: ["", "{}", "[]", #"{"format":2}"#, "\0\0"])
    func `a damaged file is no request`(text: String) {
        #expect(OpenRequestText.request(in: Array(text.utf8)) == nil)
    }

    @Test func `a file with a time limit of more than a week is no request`() {
        let text = String(decoding: OpenRequestText.bytes(of: waiting().request), as: UTF8.self)
        func request(_ seconds: String) -> OpenRequest? {
            OpenRequestText.request(
                in: Array(text.replacing(#""stateSeconds":600"#, with: #""stateSeconds":"# + seconds).utf8))
        }
        #expect(request("604800") != nil)
        #expect(request("604801") == nil)
        #expect(request("9223372036854775807") == nil)
    }
}
