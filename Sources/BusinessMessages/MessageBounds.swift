package import BalloonJSON

/// The limits on the number of parts of a message.
///
/// A customer's message over a limit is not decoded to typed values. A business's message over a limit is
/// refused before it is checked.
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

    /// The maximum total number of values of a business's message, at any depth.
    package let values = 100_000

    /// A part of a message with too many parts of its own.
    struct Excess {
        let place: JSONValue
        let found: String
        let allowed: String
    }

    /// The limits for the JSON text of a business's message.
    package var json: JSONLimits { JSONLimits(maximumNodes: values) }

    /// The first limit that a business's message exceeds; nil when it is within all limits.
    func excess(in message: JSONValue) -> Excess? {
        if let excess = excessOfParts(in: message) { return excess }
        let count = message.valueCount
        guard count > values else { return nil }
        return Excess(place: message, found: "\(count) values", allowed: "at most \(values)")
    }

    private func excessOfParts(in message: JSONValue) -> Excess? {
        if let list = message["attachments"], list.kind == .array, list.count > attachments {
            return Excess(place: list, found: "\(list.count) attachments", allowed: "at most \(attachments)")
        }
        return message.firstContainer(exceedingElements: elements, members: members).map { container in
            container.kind == .array
                ? Excess(
                    place: container, found: "a list of \(container.count) elements",
                    allowed: "at most \(elements)")
                : Excess(
                    place: container, found: "an object of \(container.count) members",
                    allowed: "at most \(members)")
        }
    }

    /// Describes the limit that a customer's message exceeds, without message content; nil when it is within all
    /// limits.
    package func violation(of message: JSONValue) -> String? {
        if let excess = excessOfParts(in: message) { return "\(excess.found); \(excess.allowed) are read" }
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
        case .array: elements.reduce(count) { $0 + ($1.first(name, otherName)?.count ?? 0) }
        case .object: 1 + (first(name, otherName)?.count ?? 0)
        case .string, .number, .boolean, .null: 0
        }
    }

    fileprivate var countOfChosenItems: Int {
        (self["sections"] ?? self).countWithParts("items", "listPickerItem")
    }
}
