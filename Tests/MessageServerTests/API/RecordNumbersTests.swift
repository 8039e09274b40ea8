import BalloonJSON
import BalloonTransport
import BalloonWire
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// The record numbers that a token of some businesses sees.
@Suite struct RecordNumbersTests {
    private static let limited = TestTokens.token("limited", "bln_limited", [.read, .operate], ["one"])
    private static let whole = TestTokens.token("whole", "bln_whole", [.read])

    @Test func `a sealed number is another one, names the same record, and tells no distance`() throws {
        let numbers = RecordNumbers(key: .random(byteCount: 32), store: "s")
        let sealed = numbers.seen(by: Self.limited)
        var shown: [UInt64] = []
        for record in [0, 1, 2, 3, 57, 58, 1 << 26, (1 << 52) - 1] as [UInt64] {
            shown.append(sealed.shown(record))
            #expect((1 << 52..<1 << 53).contains(shown.last ?? 0))
            #expect(sealed.record(shown.last ?? 0) == record && numbers.record(shown.last ?? 0) == record)
            #expect(sealed.record(record) == record)
            #expect(numbers.seen(by: Self.whole).shown(record) as UInt64 == record)
        }
        #expect(Set(shown).count == shown.count)
        let distances = zip(shown, shown.dropFirst()).map { Int64($1) - Int64($0) }
        #expect(distances.allSatisfy { abs($0) > 1 << 20 })
        let other = RecordNumbers(key: .random(byteCount: 32), store: "s").seen(by: Self.limited)
        #expect(other.shown(57) as UInt64 != sealed.shown(57))
    }

    @Test func `a token of one business sees sealed numbers everywhere, and may use both kinds`() async throws
    {
        let server = try await ServerUnderTest.withAPI {
            $0.api.tokens.append(Self.limited)
        }
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        await server.stages.first { $0.stage == .reply }
        let numbers = { (root: JSONValue) in root["deliveries"]?[0]?["record"]?.int ?? 0 }
        let path = "/v1/businesses/one/deliveries"
        let plain = numbers(try await server.api(path).json)
        let sealed = numbers(try await server.api(path, "bln_limited").json)
        #expect(plain < 1 << 20 && sealed >= 1 << 52)
        for number in [plain, sealed] {
            let found = try await server.api("\(path)/\(number)", "bln_limited")
            #expect(found.status == 200)
            #expect(try found.json["record"]?.int == sealed)
        }
        let events = try await server.api(
            "/v1/events?after=0", "bln_limited", headers: [(name: "Accept", value: "application/json")])
        let all = try await server.api(
            "/v1/events?after=0", headers: [(name: "Accept", value: "application/json")])
        for (page, isSealed) in [(try events.json, true), (try all.json, false)] {
            let first = try #require(page["events"]?.elements.first { _ in true })
            for text in [first["id"]?.string, first["key"]?.string, page["after"]?.string] {
                let parts = try #require(text).split(separator: ".")
                let number = parts.compactMap { UInt64($0) }.max() ?? 0
                #expect((number >= 1 << 52) == isSealed, "\(text ?? "")")
            }
            let record = first["line"]?["record"]?.int ?? (isSealed ? 1 << 52 : 0)
            #expect((record >= 1 << 52) == isSealed)
        }
        // Both kinds of places lead to the end of the events.
        for page in [events, all] {
            let after = try #require(try page.json["after"]?.string)
            let rest = try await server.api(
                "/v1/events?after=\(after)", "bln_limited",
                headers: [(name: "Accept", value: "application/json")])
            #expect(
                try rest.json["events"]?.elements.contains { $0["type"]?.string == "stream.reset" } == false)
        }
        await server.stop()
    }
}
