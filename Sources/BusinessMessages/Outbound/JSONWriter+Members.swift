internal import BalloonJSON

extension JSONValue {
    /// The JSON text of this object, with spaces in place of line breaks; nil when the value is not an
    /// object.
    var objectText: [UInt8]? {
        guard kind == .object else { return nil }
        return JSONWriter.value(reservingCapacity: text.count) { $0.value(self) }
    }
}

extension Array where Element: JSONWritable {
    /// The list as a member's value; nil without elements, so that the member is left out.
    var unlessEmpty: [Element]? { isEmpty ? nil : self }
}
