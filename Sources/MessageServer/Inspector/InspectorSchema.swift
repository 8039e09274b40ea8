/// JSON Schemas, as text, for the inspector's OpenAPI document.
package enum InspectorSchema {
    /// Any text.
    package static let text = #"{"type":"string"}"#
    /// A whole number that is not negative.
    package static let count = #"{"type":"integer","minimum":0}"#
    /// A number.
    package static let number = #"{"type":"number"}"#
    /// True or false.
    package static let flag = #"{"type":"boolean"}"#
    /// Any JSON object, such as a message.
    package static let anyObject = #"{"type":"object"}"#
    /// The bytes of a file.
    package static let bytes = #"{"type":"string","format":"binary"}"#
    /// A time of RFC 3339.
    package static let time = #"{"type":"string","format":"date-time"}"#

    /// A whole number in a range.
    package static func integer(_ range: ClosedRange<Int>) -> String {
        #"{"type":"integer","minimum":\#(range.lowerBound),"maximum":\#(range.upperBound)}"#
    }

    /// A number from 0 to a maximum.
    package static func number(upTo maximum: Int) -> String {
        #"{"type":"number","minimum":0,"maximum":\#(maximum)}"#
    }

    /// One of these texts, which have no characters that JSON escapes.
    package static func choice(_ values: [String]) -> String {
        #"{"enum":[\#(values.map { "\"\($0)\"" }.joined(separator: ","))]}"#
    }

    /// A list.
    package static func list(_ elements: String, _ count: ClosedRange<Int>? = nil) -> String {
        let limits = count.map { #","minItems":\#($0.lowerBound),"maxItems":\#($0.upperBound)"# } ?? ""
        return #"{"type":"array","items":\#(elements)\#(limits)}"#
    }

    /// Returns the schema of an object with these members; an object may have further ones.
    package static func object(
        _ members: KeyValuePairs<String, String>, optional: KeyValuePairs<String, String> = [:]
    ) -> String {
        let properties = (Array(members) + Array(optional)).map { #""\#($0.key)":\#($0.value)"# }
        let required = members.map { "\"\($0.key)\"" }.joined(separator: ",")
        let demand = members.isEmpty ? "" : #","required":[\#(required)]"#
        return #"{"type":"object"\#(demand),"properties":{\#(properties.joined(separator: ","))}}"#
    }

    /// The options that change how the simulated phone posts; see the manual's page "Play the customer".
    package static let levers = object(
        [:],
        optional: [
            "payload": choice(["auto", "reference", "plain"]), "times": integer(1...5),
            "devices": integer(1...2), "token": choice(["valid", "wrong", "expired", "missing"]),
            "order": choice(["given", "shuffled"]), "delayMilliseconds": integer(0...20_000),
        ])

    /// The webhook's answers to the phone's requests.
    package static let posts = object([
        "posts": list(object(["id": text, "status": count, "milliseconds": number, "body": text]))
    ])
}

/// The description of an operation in the inspector's OpenAPI document.
package struct InspectorDescription: Sendable {
    /// A short phrase, such as "List the customers".
    package let summary: String
    /// The names and schemas of the query's parameters, all optional.
    var query: [(name: String, schema: String)] = []
    /// The schema of the request's body; nil when the operation has none.
    var body: String?
    /// The schema of a successful answer; nil when it has no content.
    var answer: String?
    /// The media type of a successful answer.
    var mediaType = "application/json"
    /// The status of a successful answer.
    var status = 200
}
