import BalloonJSON
import BusinessMessages
import TestSupport
import Testing

@Suite(.enabled(if: SchemaValidator.isInstalled, "\(SchemaValidator.absence)"))
struct SchemaTests {
    private let otherTypes: [Mutation] = [.null, .number, .empty, .object]

    @Test func `the JSON Schema and the validation in Swift refuse the same outbound messages`() async throws
    {
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

    @Test func `the JSON Schema recognizes the same kind of a message as decoding`() async throws {
        let lines = try sampleNames.flatMap { name in
            let fixture = try sample(name)
            // With a member removed, both must find the same kind (=). With a member of a wrong type, the schema may
            // also find no kind (~).
            let exact = [fixture] + (try variants(of: fixture, by: [.drop]))
            let others = try variants(of: fixture, by: otherTypes, stride: 4)
            return exact.map { "=\(InboundEvent.decode(message: $0).kind)\t" + line($0) }
                + others.map { "~\(InboundEvent.decode(message: $0).kind)\t" + line($0) }
        }
        let found = try await SchemaValidator.differences("inbound", lines)
        #expect(found == [])
    }

    @Test func `a message that breaks a rule of the schema is also refused by the schema`() async throws {
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

    /// One line: whether the message breaks a rule that the schema contains, and the message.
    private func verdict(of message: JSONDocument) -> String {
        let isWrong = OutboundMessage.problems(in: message.root).contains { $0.rule.isInSchema }
        return (isWrong ? "wrong\t" : "sound\t") + line(message)
    }

    /// The JSON text of the message without line breaks.
    private func line(_ message: JSONDocument) -> String {
        var writer = JSONWriter()
        writer.value(message.root)
        return text(writer.finish())
    }
}

extension MessageRule {
    /// Whether the JSON Schema of outbound messages also contains the rule.
    ///
    /// The schema omits rules that it cannot express, such as those that compare values or parse a string.
    var isInSchema: Bool {
        switch self {
        case .type, .required, .empty, .messageType, .protocolVersion, .messageIdentifier, .locale,
            .typeContent, .attachmentKey, .invitationTemplate, .invitationReference, .linkContent,
            .interactiveContent, .bid, .interactiveKind, .bubbleText, .bubbleStyle, .quickReplyCount,
            .slotDuration, .formTemplate, .pageIdentifier, .pageType, .inputType, .characterCount,
            .keyboardType, .textContentType, .initiative, .merchantCapability, .threeDSecure, .money,
            .lineItemType, .contactField, .responseType, .authenticationProcedure, .appData:
            true
        default: false
        }
    }
}
