internal import BalloonJSON

extension JSONValue {
    /// The JSON text of this object, with spaces in place of line breaks; nil when the value is not an
    /// object.
    var objectText: [UInt8]? {
        guard kind == .object else { return nil }
        var writer = JSONWriter(reservingCapacity: text.count)
        writer.value(self)
        return writer.finish()
    }
}

extension JSONWriter {
    /// Writes a member whose value is an object.
    mutating func object(_ name: String, _ body: (inout JSONWriter) -> Void) {
        key(name)
        object(body)
    }

    /// Writes a member whose value is a list, one call of `body` per element.
    mutating func list<Element>(
        _ name: String, _ elements: [Element], _ body: (Element, inout JSONWriter) -> Void
    ) {
        key(name)
        array { writer in
            for element in elements { body(element, &writer) }
        }
    }

    /// Writes a member whose value is a list of strings.
    mutating func list(_ name: String, _ strings: [String]) {
        list(name, strings) { $1.string($0) }
    }

    /// Writes one or more members that are already JSON text, with the commas between them.
    mutating func members(_ json: [UInt8]) { raw(json) }

    /// Writes a member whose value is the bytes as a Base64 string.
    mutating func base64(_ name: String, _ bytes: [UInt8]) {
        field(name, Base64.encode(bytes))
    }

    /// Writes a member whose value is a bubble; writes nothing when `bubble` is nil.
    mutating func bubble(_ name: String, _ bubble: OutboundBubble?) {
        guard let bubble else { return }
        key(name)
        bubble.write(to: &self)
    }
}
