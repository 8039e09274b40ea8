import BusinessMessages

/// A customer's choice in an interactive message of a business.
package struct DeviceChoice: Sendable, Equatable {
    /// An answer to one page of a form.
    package struct Fill: Sendable, Equatable {
        /// The page's identifier or title.
        package let page: String
        /// The text that was entered, or the item's title or number.
        package let value: String

        /// Creates an answer.
        package init(page: String, value: String) {
            self.page = page
            self.value = value
        }

        /// Parses `page=value`; nil without an equals sign or a page.
        package init?(_ text: String) {
            guard let sign = text.firstIndex(of: "="), sign != text.startIndex else { return nil }
            self.init(page: String(text[..<sign]), value: String(text[text.index(after: sign)...]))
        }
    }

    /// The chosen items: each text is a title, a number from 1 or an identifier, or several of them with
    /// commas between.
    package var items: [String]
    /// The answers to the pages of a form.
    package var fills: [Fill]

    /// Creates a choice.
    package init(items: [String] = [], fills: [Fill] = []) {
        self.items = items
        self.fills = fills
    }

    /// The positions of the named items among `offered`.
    ///
    /// A text is split at its commas only when it names no item as a whole, so that a title may contain a
    /// comma.
    static func positions(
        of names: [String], in offered: [DeviceOffer.Item], listed lines: [String]
    ) throws(DeviceAnswerError) -> [Int] {
        var positions: [Int] = []
        for name in names {
            if let position = try position(of: name, in: offered, lines) {
                positions.append(position)
                continue
            }
            let parts = name.split(separator: ",").map { String($0.trimmed) }.filter { !$0.isEmpty }
            guard parts.count > 1 else { throw .unknownChoice(name, offered: lines) }
            for part in parts {
                guard let position = try position(of: part, in: offered, lines) else {
                    throw .unknownChoice(part, offered: lines)
                }
                positions.append(position)
            }
        }
        // An item that is named twice is chosen once.
        return Set(positions).sorted()
    }

    /// The position of one item; nil when no item has the name.
    private static func position(
        of name: String, in offered: [DeviceOffer.Item], _ lines: [String]
    ) throws(DeviceAnswerError) -> Int? {
        let wanted = name.trimmed.lowercased()
        let titled = offered.indices.filter { offered[$0].title.lowercased() == wanted }
        if titled.count > 1 { throw .ambiguousChoice(name, offered: lines) }
        if let position = titled.first { return position }
        if let number = Int(wanted), (1...max(1, offered.count)).contains(number), !offered.isEmpty {
            return number - 1
        }
        return offered.firstIndex { $0.identifier == name } ?? offered.firstIndex { $0.value == name }
    }
}
