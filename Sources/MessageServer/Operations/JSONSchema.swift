/// A JSON Schema (draft 2020-12), with the named schemas to which it refers.
package struct JSONSchema: Sendable, ExpressibleByStringLiteral {
    let json: String
    /// The texts of the schemas that ``json`` and they refer to, by their names.
    private(set) var components: [String: String] = [:]
    /// Whether an object may omit a member with this schema.
    private(set) var isOptional = false
    /// An example for the OpenAPI document.
    var example: String?

    /// A schema that is written as JSON.
    package init(stringLiteral json: String) { self.json = json }

    private init(_ json: String, of parts: [JSONSchema]) {
        self.json = json
        for part in parts { components.merge(part.components) { first, _ in first } }
    }

    /// A reference to this schema, which is a component of the document (OpenAPI 3.1 §4.8.23).
    func named(_ name: String, example: String? = nil) -> JSONSchema {
        var reference = JSONSchema(##"{"$ref":"#/components/schemas/\##(name)"}"##, of: [self])
        reference.components[name] = json
        reference.example = example
        return reference
    }

    /// This schema for a member that may be missing.
    var optional: JSONSchema {
        var schema = self
        schema.isOptional = true
        return schema
    }

    /// Any text.
    package static let text: JSONSchema = #"{"type":"string"}"#
    /// A whole number that is not negative.
    package static let count: JSONSchema = #"{"type":"integer","minimum":0}"#
    /// A number.
    package static let number: JSONSchema = #"{"type":"number"}"#
    /// True or false.
    package static let flag: JSONSchema = #"{"type":"boolean"}"#
    /// Any JSON object, such as a message.
    package static let anyObject: JSONSchema = #"{"type":"object"}"#
    /// The bytes of a file.
    package static let bytes: JSONSchema = #"{"type":"string","format":"binary"}"#
    /// A time of RFC 3339.
    package static let time: JSONSchema = #"{"type":"string","format":"date-time"}"#
    /// A SHA-256 in lower-case hexadecimal.
    static let hash: JSONSchema = #"{"type":"string","pattern":"^[0-9a-f]{64}$"}"#

    /// A whole number in a range.
    package static func integer(_ range: ClosedRange<Int>) -> JSONSchema {
        let maximum = range.upperBound < Int.max ? #","maximum":\#(range.upperBound)"# : ""
        return JSONSchema(#"{"type":"integer","minimum":\#(range.lowerBound)\#(maximum)}"#, of: [])
    }

    /// A number from 0 to a maximum.
    package static func number(upTo maximum: Int) -> JSONSchema {
        JSONSchema(#"{"type":"number","minimum":0,"maximum":\#(maximum)}"#, of: [])
    }

    /// One of these texts, which have no characters that JSON escapes.
    package static func choice(_ values: [String], type: String? = nil) -> JSONSchema {
        let type = type.map { #""type":"\#($0)","# } ?? ""
        return JSONSchema(
            #"{\#(type)"enum":[\#(values.map { "\"\($0)\"" }.joined(separator: ","))]}"#, of: [])
    }

    /// One of these schemas.
    package static func any(of schemas: [JSONSchema]) -> JSONSchema {
        JSONSchema(#"{"anyOf":[\#(schemas.map(\.json).joined(separator: ","))]}"#, of: schemas)
    }

    /// A list.
    package static func list(_ elements: JSONSchema, _ count: ClosedRange<Int>? = nil) -> JSONSchema {
        let limits = count.map { #","minItems":\#($0.lowerBound),"maxItems":\#($0.upperBound)"# } ?? ""
        return JSONSchema(#"{"type":"array","items":\#(elements.json)\#(limits)}"#, of: [elements])
    }

    /// An object with these members, which may have further ones.
    package static func object(
        _ members: KeyValuePairs<String, JSONSchema>, optional: KeyValuePairs<String, JSONSchema> = [:]
    ) -> JSONSchema {
        object(members.map { ($0, $1) } + optional.map { ($0, $1.optional) }, isClosed: false)
    }

    /// An object with members that may be missing, which may have further ones.
    package static func options(
        _ members: KeyValuePairs<String, JSONSchema>, _ more: KeyValuePairs<String, JSONSchema> = [:]
    ) -> JSONSchema {
        object((Array(members) + more).map { ($0.key, $0.value.optional) }, isClosed: false)
    }

    /// An object with these members and no others.
    static func closed(_ members: KeyValuePairs<String, JSONSchema>) -> JSONSchema {
        object(members.map { ($0, $1) }, isClosed: true)
    }

    static func object(_ members: [(name: String, schema: JSONSchema)], isClosed: Bool) -> JSONSchema {
        let properties = members.map { #""\#($0.name)":\#($0.schema.json)"# }.joined(separator: ",")
        let required = members.filter { !$0.schema.isOptional }.map { "\"\($0.name)\"" }
            .joined(separator: ",")
        let demand = required.isEmpty && !isClosed ? "" : #","required":[\#(required)]"#
        let limit = isClosed ? #","additionalProperties":false"# : ""
        return JSONSchema(
            #"{"type":"object"\#(demand)\#(limit),"properties":{\#(properties)}}"#,
            of: members.map(\.schema))
    }

    /// An answer of an operation, as an OpenAPI document describes it.
    static func answer(_ description: String, _ type: String, _ schema: JSONSchema) -> JSONSchema {
        JSONSchema(
            #"{"description":"\#(description)","content":{"\#(type)":{"schema":\#(schema.json)}}}"#,
            of: [schema])
    }

    /// The options that change how the simulated phone posts; see the manual's page "Play the customer".
    package static let levers = options([
        "payload": choice(["auto", "reference", "plain"]), "times": integer(1...5),
        "devices": integer(1...2), "token": choice(["valid", "wrong", "expired", "missing"]),
        "order": choice(["given", "shuffled"]), "delayMilliseconds": integer(0...20_000),
    ])
    /// The webhook's answers to the phone's requests.
    package static let posts = object([
        "posts": list(object(["id": text, "status": count, "milliseconds": number, "body": text]))
    ])
}
