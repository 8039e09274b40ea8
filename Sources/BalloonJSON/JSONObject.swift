/// A JSON object as a literal, such as `["record": 57, "reason": reason]`; a member without a value is left out.
///
/// It has no schema and is not read back. Code that runs for each message writes its members one by one instead, because a
/// literal allocates an array.
package struct JSONObject: ExpressibleByDictionaryLiteral, JSONWritable {
    private let members: [(name: String, value: (any JSONWritable)?)]

    package init(dictionaryLiteral members: (String, (any JSONWritable)?)...) { self.members = members }

    /// Gives a literal its type, where it is the value of a member.
    package init(_ object: JSONObject) { self = object }

    package func write(to writer: inout JSONWriter) { writer.object { $0.fields(self) } }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        for case (let name, let value?) in members {
            writer.key(name)
            value.write(to: &writer)
        }
    }
}

/// A value of a ``JSONObject``.
package protocol JSONWritable {
    func write(to writer: inout JSONWriter)
}

/// The text of a JSON value, which is written as it is.
package struct JSONText: JSONWritable {
    private let bytes: [UInt8]

    package init(_ json: some Collection<UInt8>) { bytes = Array(json) }

    package func write(to writer: inout JSONWriter) { writer.raw(bytes) }
}

extension String: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Int: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.int(self) }
}

extension Double: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.double(self) }
}

extension Bool: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension JSONValue: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.value(self) }
}

extension Array: JSONWritable where Element: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.array { writer in for element in self { element.write(to: &writer) } }
    }
}

extension JSONWriter {
    /// Returns the text of an object.
    package static func object(_ object: JSONObject) -> [UInt8] { value { object.write(to: &$0) } }

    /// Writes an object.
    package mutating func object(_ object: JSONObject) { object.write(to: &self) }

    /// Writes a member with an object.
    package mutating func field(_ name: String, _ object: JSONObject) {
        key(name)
        self.object(object)
    }

    /// Writes the members of an object into the one that is open.
    package mutating func fields(_ object: JSONObject) { object.writeMembers(to: &self) }
}
