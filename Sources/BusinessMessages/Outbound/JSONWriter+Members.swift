internal import BalloonJSON

extension JSONValue {
    /// The text of an object, as it was read; nil when it is something else.
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

    /// Writes members that are already JSON, including the commas between them; at least one.
    mutating func members(_ json: [UInt8]) { raw(json) }

    /// Writes a member whose value is bytes in Base64.
    mutating func base64(_ name: String, _ bytes: [UInt8]) {
        field(name, Base64.encode(bytes))
    }

    /// Writes a member whose value is a bubble, if there is one.
    mutating func bubble(_ name: String, _ bubble: OutboundBubble?) {
        guard let bubble else { return }
        key(name)
        bubble.write(to: &self)
    }
}
