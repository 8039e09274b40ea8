package import BalloonJSON

/// How many parts a message may have to be read as typed values.
///
/// They are counted on the JSON index before a value is made of any part. A text of 66 KB, as it was sent, can hold
/// 3.4 million empty attachments; as values, and as downloads, those cost gigabytes.
package struct MessageBounds: Sendable {
    /// The bounds of every message.
    package static let standard = MessageBounds()

    /// How many `attachments` a text may have.
    package let attachments = 100
    /// How many elements any other list may have, the parts of a URL's query included.
    package let elements = 1000
    /// How many members an object may have.
    package let members = 10_000
    /// How many pages and answers a form, or sections and items a list picker, may have in all.
    package let selections = 10_000

    /// Which bound a message exceeds, as a fact without a word of the message; nil when it is within all of them.
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

    /// Whether a container has more elements or members than a message's may have.
    func isExceeded(by container: JSONValue) -> Bool {
        container.count > (container.kind == .array ? elements : members)
    }
}

extension JSONValue {
    /// How many elements a list has, together with those of a list in each of them; an object by itself is a list of one.
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
