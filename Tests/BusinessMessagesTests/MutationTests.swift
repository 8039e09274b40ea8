import BalloonJSON
import BusinessMessages
import Testing

/// A way to change one value of a message.
enum Mutation: CaseIterable {
    case drop, double, null, number, negative, huge, text, empty, boolean, list, object, wrap

    /// Writes the result of the change: a changed value, two values or nothing; `name` is nil inside a list.
    func write(_ value: JSONValue, _ name: String?, to writer: inout JSONWriter) {
        func put(_ json: some Collection<UInt8>, to writer: inout JSONWriter) {
            if let name { writer.key(name) }
            writer.raw(json)
        }
        switch self {
        case .drop: break
        case .double:
            put(value.text, to: &writer)
            put("\"second\"".utf8, to: &writer)
        case .null: put("null".utf8, to: &writer)
        case .number: put("7".utf8, to: &writer)
        case .negative: put("-1".utf8, to: &writer)
        case .huge: put("9223372036854775807".utf8, to: &writer)
        case .text: put("\"{\\\"lpData\\\":[]}%\"".utf8, to: &writer)
        case .empty: put("\"\"".utf8, to: &writer)
        case .boolean: put("true".utf8, to: &writer)
        case .list: put("[]".utf8, to: &writer)
        case .object: put("{}".utf8, to: &writer)
        case .wrap: put(Array("[".utf8) + value.text + Array("]".utf8), to: &writer)
        }
    }
}

/// Writes `value` with the mutation at the `target`th value below it, counted in document order.
private func write(
    _ value: JSONValue, name: String?, _ mutation: Mutation, at target: Int, counting count: inout Int,
    to writer: inout JSONWriter
) {
    count += 1
    if count == target { return mutation.write(value, name, to: &writer) }
    if let name { writer.key(name) }
    switch value.kind {
    case .object:
        writer.object { writer in
            for (key, member) in value.members {
                write(member, name: key, mutation, at: target, counting: &count, to: &writer)
            }
        }
    case .array:
        writer.array { writer in
            for element in value.elements {
                write(element, name: nil, mutation, at: target, counting: &count, to: &writer)
            }
        }
    case .string, .number, .boolean, .null: writer.value(value)
    }
}

/// All variants of a message in which one value below the root is changed.
///
/// A `stride` above 1 reduces their number for slow tests: each mutation is applied only to every `stride`th value,
/// beginning with another value each time. Each value and each mutation is still tried, but not all combinations.
func variants(
    of document: JSONDocument, by mutations: [Mutation] = Mutation.allCases, stride: Int = 1
) throws -> [JSONDocument] {
    var variants: [JSONDocument] = []
    for (index, mutation) in mutations.enumerated() {
        var target = 2 + index % stride
        while true {
            var count = 0
            var writer = JSONWriter()
            write(document.root, name: nil, mutation, at: target, counting: &count, to: &writer)
            guard count >= target else { break }
            variants.append(try JSONDocument(writer.finish()))
            target += stride
        }
    }
    return variants
}

struct MutationTests {
    @Test(arguments: sampleNames)
    func `a message with one changed value is still decoded to an event, which keeps all of its JSON`(
        name: String
    ) throws {
        let variants = try variants(of: try sample(name))
        #expect(variants.count >= 12 * 5)
        for variant in variants {
            let event = InboundEvent.decode(message: variant)
            #expect(event.message.text == variant.bytes[...])
            #expect(!event.kind.rawValue.isEmpty)
            _ = event.summary
            _ = PayloadReference(message: variant)
            _ = MessageAttributes.read(document: variant)
        }
    }

    @Test func `resolving a reference with one changed value leaves all other members unchanged`() throws {
        let decoded = try sample("form").root["interactiveData"]
        let payload = try JSONDocument(Array(try #require(decoded).text))
        for variant in try variants(of: try sample("form-reference")) {
            let bytes = try #require(resolving(message: variant, with: payload))
            let root = try JSONDocument(bytes).root
            #expect(root["interactiveDataRef"] == nil)
            for (key, value) in variant.root.members where !key.hasPrefix("interactiveData") {
                // When a name is repeated, its last member is used.
                let expected = variant.root[key]?.text ?? value.text
                #expect(root[key]?.text == expected)
            }
        }
    }

    @Test func `the envelope of a message with one changed value is either read or refused`() throws {
        for variant in try variants(of: try sample("text")) {
            do {
                let envelope = try InboundEnvelope.read(document: variant, headers: EnvelopeHeaders())
                #expect((1...512).contains(envelope.id.rawValue.utf8.count))
            } catch {
                #expect(error != .notAnObject)
            }
        }
    }
}

struct OutboundMutationTests {
    @Test(arguments: outboundNames)
    func `validation of a message with one changed value ends, and each problem has a place in the message`(
        name: String
    ) throws {
        for variant in try variants(of: try outboundSample(name), stride: 3) {
            for problem in OutboundMessage.problems(in: variant.root, needsEnvelope: true, for: []) {
                let hasPlace =
                    problem.line >= 1 && problem.column >= 1
                    && (problem.pointer.isEmpty || problem.pointer.hasPrefix("/"))
                    && !problem.allowed.isEmpty && !problem.found.isEmpty && !problem.passage.isEmpty
                // `#expect` is too slow for a hundred thousand problems, so only failures are recorded.
                if !hasPlace { Issue.record("\(problem)") }
            }
        }
    }
}
