package import BalloonJSON

/// The limits on the number of parts of a message; a message over a limit is not decoded to typed values.
///
/// Parts are counted in the JSON index before any of them is decoded. A message of 66 KB when compressed can hold
/// 3.4 million empty attachments; decoding and downloading them would cost gigabytes.
package struct MessageBounds: Sendable {
    /// The bounds of every message.
    package static let standard = MessageBounds()

    /// The maximum number of `attachments` of a message.
    package let attachments = 100
    /// The maximum number of elements of any other list, including the parts of a URL's query.
    package let elements = 1000
    /// The maximum number of members of an object.
    package let members = 10_000
    /// The maximum total number of pages and answers of a form, or of sections and items of a list picker.
    package let selections = 10_000

    /// Describes the limit that a message exceeds, without message content; nil when it is within all limits.
    package func violation(of message: JSONValue) -> String? {
        if let list = message["attachments"], list.kind == .array, list.count > attachments {
            return "\(list.count) attachments; at most \(attachments) are read"
        }
        if let container = message.firstContainer(exceedingElements: elements, members: members) {
            return container.kind == .array
                ? "a list of \(container.count) elements; at most \(elements) are read"
                : "an object of \(container.count) members; at most \(members) are read"
        }
        guard let interactiveData = message["interactiveData"]?.object else { return nil }
        if let url = interactiveData.first("URL", "url")?.nonEmptyString {
            let parts = url.utf8.lazy.count { $0 == UInt8(ascii: "&") } + 1
            if parts > elements { return "a URL's query of \(parts) parts; at most \(elements) are read" }
        }
        guard let data = interactiveData["data"]?.object else { return nil }
        let chosen = max(
            data["dynamic"]?.object?["selections"]?.countWithParts("items", "items") ?? 0,
            data.first("listPicker")?.countOfChosenItems ?? 0)
        return chosen > selections ? "\(chosen) selections; at most \(selections) are read" : nil
    }

    /// Whether a container has more elements or members than allowed.
    func isExceeded(by container: JSONValue) -> Bool {
        container.count > (container.kind == .array ? elements : members)
    }
}

extension JSONValue {
    /// The number of elements of a list, plus the elements of the lists inside these elements.
    ///
    /// The inner list has one of the two names. A single object counts as a list of one.
    fileprivate func countWithParts(_ name: String, _ otherName: String) -> Int {
        switch kind {
        case .array:
            elements.reduce(count) { $0 + ($1.first(name, otherName)?.count ?? 0) }
        case .object: 1 + (first(name, otherName)?.count ?? 0)
        case .string, .number, .boolean, .null: 0
        }
    }

    fileprivate var countOfChosenItems: Int {
        (self["sections"] ?? self).countWithParts("items", "listPickerItem")
    }
}
