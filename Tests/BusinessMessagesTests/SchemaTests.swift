import BalloonJSON
import BusinessMessages
import Glibc
import TestSupport
import Testing

/// Whether there is a public validator to compare with; `scripts/test` installs it where it can.
private let hasValidator = system("python3 -c 'import jsonschema' >/dev/null 2>&1") == 0

@Suite(
    .enabled(
        if: hasValidator, "python3 with the package jsonschema is not here, so the schemas were not compared")
)
struct SchemaTests {
    /// What a schema must say of messages, one line each; what is different, as the validator found it.
    private func differences(_ schema: String, _ lines: [String]) throws -> String {
        let directory = TemporaryDirectory()
        let root = String(Fixture.directory.dropLast("Tests/TestSupport/Fixtures".count))
        let (input, output) = (directory.path + "/messages", directory.path + "/differences")
        let file = try #require(fopen(input, "w"))
        fputs(lines.map { $0 + "\n" }.joined(), file)
        fclose(file)
        let status = system(
            "timeout 300 python3 '\(Fixture.directory)/schemas/compare.py' '\(root)config/schemas/\(schema).schema.json'"
                + " '\(input)' >'\(output)' 2>&1")
        #expect(status == 0)
        let found = try #require(fopen(output, "r"))
        defer { fclose(found) }
        var text = [CChar](repeating: 0, count: 4000)
        let count = fread(&text, 1, text.count, found)
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private let mutations: [Mutation] = [.drop, .null, .number, .empty, .object]

    @Test func `schema and validation refuse the same outbound messages`() throws {
        let lines = try outboundNames.flatMap { name in
            let fixture = try outboundSample(name)
            #expect(verdict(of: fixture).hasPrefix("sound"))
            return try ([fixture] + variants(of: fixture, by: mutations)).map(verdict)
        }
        #expect(lines.contains { $0.hasPrefix("wrong") })
        let found = try differences("outbound", lines)
        #expect(found == "")
    }

    @Test func `the schema finds the kind that decoding finds`() throws {
        let lines = try sampleNames.flatMap { name in
            let fixture = try sample(name)
            // What is left out never changes the kind unless it makes it; what has another type fits no kind.
            let exact = [fixture] + (try variants(of: fixture, by: [.drop]))
            let others = try variants(of: fixture, by: mutations.filter { $0 != .drop })
            return exact.map { "=\(InboundEvent.decode(message: $0).kind)\t" + line($0) }
                + others.map { "~\(InboundEvent.decode(message: $0).kind)\t" + line($0) }
        }
        let found = try differences("inbound", lines)
        #expect(found == "")
    }

    @Test func `a rule that the schema has is broken in the schema too`() throws {
        let messages = try ruleCases.filter(\.rule.isInSchema).flatMap { example in
            let fixture = try outboundSample(example.fixture)
            return [
                try fixture.replacing(example.pointer, by: example.sound),
                try fixture.replacing(example.pointer, by: example.broken),
            ]
        }
        let found = try differences("outbound", messages.map(verdict))
        #expect(found == "")
    }

    /// What validation says of what the schema can say, and the message.
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
