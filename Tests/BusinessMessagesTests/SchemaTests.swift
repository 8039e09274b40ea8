import BalloonJSON
import BusinessMessages
import TestSupport
import Testing

@Suite(.enabled(if: SchemaValidator.isInstalled, "\(SchemaValidator.absence)"))
struct SchemaTests {
    private let otherTypes: [Mutation] = [.null, .number, .empty, .object]

    @Test func `schema and validation refuse the same outbound messages`() async throws {
        let lines = try outboundNames.flatMap { name in
            let fixture = try outboundSample(name)
            #expect(verdict(of: fixture).hasPrefix("sound"))
            let dropped = try variants(of: fixture, by: [.drop])
            let others = try variants(of: fixture, by: otherTypes, stride: 4)
            return ([fixture] + dropped + others).map(verdict)
        }
        #expect(lines.contains { $0.hasPrefix("wrong") })
        let found = try await SchemaValidator.differences("outbound", lines)
        #expect(found == [])
    }

    @Test func `the schema finds the kind that decoding finds`() async throws {
        let lines = try sampleNames.flatMap { name in
            let fixture = try sample(name)
            // A missing member changes the kind only when it determines it; a wrong type matches no kind.
            let exact = [fixture] + (try variants(of: fixture, by: [.drop]))
            let others = try variants(of: fixture, by: otherTypes, stride: 4)
            return exact.map { "=\(InboundEvent.decode(message: $0).kind)\t" + line($0) }
                + others.map { "~\(InboundEvent.decode(message: $0).kind)\t" + line($0) }
        }
        let found = try await SchemaValidator.differences("inbound", lines)
        #expect(found == [])
    }

    @Test func `a rule that the schema has is broken in the schema too`() async throws {
        let messages = try ruleCases.filter(\.rule.isInSchema).flatMap { example in
            let fixture = try outboundSample(example.fixture)
            return [
                try fixture.replacing(example.pointer, by: example.sound),
                try fixture.replacing(example.pointer, by: example.broken),
            ]
        }
        let found = try await SchemaValidator.differences("outbound", messages.map(verdict))
        #expect(found == [])
    }

    /// The validation result limited to rules of the schema, and the message.
    private func verdict(of message: JSONDocument) -> String {
        let isWrong = OutboundMessage.problems(in: message.root).contains { $0.rule.isInSchema }
        return (isWrong ? "wrong\t" : "sound\t") + line(message)
    }

    /// The message on one line.
    private func line(_ message: JSONDocument) -> String {
        var writer = JSONWriter()
        writer.value(message.root)
        return text(writer.finish())
    }
}
