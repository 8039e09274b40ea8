internal import BalloonJSON

extension JSONValue {
    /// The JSON text of this object, with spaces in place of line breaks; nil when the value is not an
    /// object.
    var objectText: [UInt8]? {
        guard kind == .object else { return nil }
        return JSONWriter.value(reservingCapacity: text.count) { $0.value(self) }
    }
}

extension JSONWriter {
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
