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
    var confirmation: String? { request.confirmation }
    var copy: Changing { Changing(request) }

    func accept(at now: Timestamp) { request.accept(at: now) }
    func consume(at now: Timestamp) -> Bool { request.consume(at: now) }
    func record(_ result: [UInt8], confirmation: String?, at now: Timestamp) -> Bool {
        request.record(result, confirmation: confirmation, at: now)
    }
    func confirm(_ confirmation: String, at now: Timestamp) -> Bool {
        request.confirm(confirmation, at: now)
    }
    func release(by event: MessageID, at now: Timestamp) -> OpenRequest.Release {
        request.release(by: event, at: now)
    }
    func begin(by event: MessageID, at now: Timestamp) -> OpenRequest.Begin {
        request.begin(by: event, at: now)
    }
    func end(with result: [UInt8], by event: MessageID) { request.end(with: result, by: event) }
    func forgetResult(of event: MessageID, at now: Timestamp) {
        request.forgetResult(of: event, at: now)
    }
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
        #expect(request.begin(by: event, at: Self.at(20)) == payload)
        #expect(request.begin(by: event, at: Self.at(80_000)) == payload)
        for seconds in [29, 30, 80_000] {
            #expect(request.begin(by: other, at: Self.at(seconds)) == .ended(.repetition(of: event)))
        }
        #expect(!request.consume(at: Self.at(30)))
        request.end(with: [2], by: other)
        #expect(request.phase == .consumed)
        request.end(with: [1], by: event)
        #expect(request.payload == nil)
        #expect(request.begin(by: event, at: Self.at(40)) == .ended(.result([1])))
        #expect(request.begin(by: event, at: Self.at(90_000)) == .ended(.expired))
    }

    @Test(arguments: [(609, true), (610, false)])
    func `an event of version 1 must arrive within the time from the gateway's acceptance`(
        seconds: Int, isInTime: Bool
    ) {
        let request = waiting()
        request.accept(at: Self.at(10))
        let begin = request.begin(by: MessageID("e"), at: Self.at(seconds))
        #expect((begin == .ended(.expired)) == !isInTime)
        #expect((request.payload == nil) == !isInTime)
    }

    @Test func `a request that its callback has used does not begin with an event of version 1`() {
        let request = consumed()
        let begin = request.begin(by: MessageID("e"), at: Self.at(30))
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
        #expect(request.release(by: MessageID("m"), at: Self.at(seconds)) == release)
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
        #expect(unconfirmed.release(by: MessageID("m"), at: Self.at(22)) == .result(nil))
        #expect(!unconfirmed.confirm("c", at: Self.at(23)))
        #expect(!request.confirm("d", at: Self.at(22)))
        #expect(request.confirm("c", at: Self.at(22)))
        #expect(!request.confirm("c", at: Self.at(22)))
        #expect(request.release(by: MessageID("m"), at: Self.at(23)) == .result([1]))
    }

    @Test func `an event without a callback has no result and ends the request`() {
        let request = waiting()
        request.accept(at: Self.at(10))
        #expect(request.release(by: MessageID("m"), at: Self.at(20)) == .result(nil))
        #expect(!request.consume(at: Self.at(21)))
    }

    @Test func `the same event is released again for a day, and every other event repeats it`() {
        let request = consumed()
        #expect(request.record([1], confirmation: nil, at: Self.at(21)))
        func release(_ event: String, _ seconds: Int) -> OpenRequest.Release {
            request.release(by: MessageID(event), at: Self.at(seconds))
        }
        #expect(release("m", 30) == .result([1]))
        for seconds in [31, 39, 40, 80_000] {
            #expect(release("n", seconds) == .repetition(of: MessageID("m")))
        }
        #expect(release("m", 30 + 86_399) == .result([1]))
        #expect(release("m", 30 + 86_400) == .expired)
        #expect(request.result == nil)
        #expect(release("n", 30 + 86_400) == .repetition(of: MessageID("m")))
    }

    @Test func `after its delivery an event has no result, and another event still repeats it`() throws {
        let request = consumed()
        #expect(request.record([1], confirmation: nil, at: Self.at(21)))
        let (event, other) = (MessageID("m"), MessageID("n"))
        #expect(request.release(by: event, at: Self.at(30)) == .result([1]))
        request.forgetResult(of: other, at: Self.at(31))
        #expect(request.result == [1])
        request.forgetResult(of: event, at: Self.at(31))
        #expect(request.result == nil && request.payload == nil && request.confirmation == nil)
        #expect(request.request.until == Self.at(31 + 86_400))
        let read = try #require(OpenRequestText.request(in: OpenRequestText.bytes(of: request.request)))
        #expect(read == request.request)
        let restored = Changing(read)
        #expect(restored.release(by: event, at: Self.at(32)) == .expired)
        #expect(restored.release(by: other, at: Self.at(33)) == .repetition(of: event))
        #expect(restored.begin(by: other, at: Self.at(34)) == .ended(.repetition(of: event)))
        #expect(!restored.consume(at: Self.at(34)))
    }

    @Test func `the first event of an expired request is too late, and another event repeats it`() {
        let request = waiting()
        request.accept(at: Self.at(10))
        for event in ["m", "m"] {
            #expect(request.release(by: MessageID(event), at: Self.at(610)) == .expired)
        }
        #expect(request.release(by: MessageID("n"), at: Self.at(611)) == .repetition(of: MessageID("m")))
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
        next { _ = $0.release(by: MessageID("m"), at: Self.at(23)) }
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
