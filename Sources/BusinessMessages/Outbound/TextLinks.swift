internal import BalloonJSON

/// The maximum size of a web address in a text.
private let maximumAddressBytes = 2048

/// A web address in a text.
package struct TextLink: Hashable, Sendable {
    /// The place of the address in the text.
    package let range: Range<String.Index>
    /// The absolute address; an address without a scheme gets `https://`.
    package let url: String
}

extension String {
    /// The web addresses in the text, in order: those with `http://`, `https://` or `www.`, and those of `hosts`
    /// without a scheme.
    ///
    /// Punctuation around an address is no part of it, and the host of an e-mail address is none.
    package func webLinks(hosts: Set<String> = []) -> [TextLink] {
        var links: [TextLink] = []
        var rest = startIndex
        // Scalars, because a character may have any number of combining marks.
        while let begin = unicodeScalars[rest...].firstIndex(where: { !$0.endsAddress }) {
            let end = unicodeScalars[begin...].firstIndex(where: \.endsAddress) ?? endIndex
            if let link = link(in: begin..<end, hosts) { links.append(link) }
            rest = end
        }
        return links
    }

    /// Returns the address in a part without blanks; nil when it has none.
    private func link(in part: Range<Index>, _ hosts: Set<String>) -> TextLink? {
        let text = self[part]
        guard text.utf8.count <= maximumAddressBytes else { return nil }
        // Most words have neither a colon nor a dot.
        guard text.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }) else {
            return nil
        }
        var starts = ["https://", "http://"].compactMap { text.start(of: $0) }
        if starts.isEmpty {
            starts = (["www."] + hosts).compactMap { name in
                text.start(of: name).flatMap { text.isHost(name, at: $0) ? $0 : nil }
            }
        }
        guard let begin = starts.min() else { return nil }
        let end = text[begin...].addressEnd
        let scheme = text[begin...].lowercased().hasPrefix("http") ? "" : "https://"
        let url = scheme + self[begin..<end].percentEncoded
        return url.isWebAddress(schemes: ["http", "https"]) ? TextLink(range: begin..<end, url: url) : nil
    }
}

extension Substring {
    /// The place of a word in small ASCII letters, regardless of case; nil without it.
    fileprivate func start(of word: String) -> Index? {
        var place = startIndex
        while place < endIndex {
            let rest = utf8[place...]
            if rest.count < word.utf8.count { return nil }
            if rest.prefix(word.utf8.count).elementsEqual(word.utf8, by: { $0 | 0x20 == $1 | 0x20 }) {
                return place
            }
            place = utf8.index(after: place)
        }
        return nil
    }

    /// Whether a host begins at `place`: no letter, digit or sign of an address is before or directly behind it.
    fileprivate func isHost(_ name: String, at place: Index) -> Bool {
        let isPart = { (character: Character) in
            character.isLetter || character.isNumber || "@.-_/".contains(character)
        }
        if place > startIndex, isPart(self[index(before: place)]) { return false }
        if name.hasSuffix(".") { return true }
        let behind = self[place...].dropFirst(name.count)
        guard let next = behind.first else { return true }
        guard next == "." || next == "-" else { return "/?#:,;!)]}'\"".contains(next) }
        // A dot ends a sentence, or another host continues.
        return next == "." && !(behind.dropFirst().first.map { $0.isLetter || $0.isNumber } ?? false)
    }

    /// The end of an address that begins here, without the punctuation behind it.
    fileprivate var addressEnd: Index {
        let scalars = unicodeScalars
        var end =
            scalars.firstIndex {
                !$0.isASCII && !$0.properties.isAlphabetic && $0.properties.numericType == nil
            }
            ?? endIndex
        // How many more brackets of each kind are closed than opened. A bracket that was opened belongs to the address.
        var closed: [Unicode.Scalar: Int] = [:]
        for scalar in scalars[..<end] {
            switch scalar {
            case "(": closed[")", default: 0] -= 1
            case "[": closed["]", default: 0] -= 1
            case "{": closed["}", default: 0] -= 1
            case ")", "]", "}": closed[scalar, default: 0] += 1
            default: break
            }
        }
        while end > startIndex {
            let last = scalars.index(before: end)
            switch scalars[last] {
            case ".", ",", ";", ":", "!", "?", "'", "\"", "*", "_", "~", "|", "\\": break
            case ")", "]", "}":
                guard closed[scalars[last], default: 0] > 0 else { return end }
                closed[scalars[last], default: 0] -= 1
            default: return end
            }
            end = last
        }
        return end
    }

    /// The text with its letters and signs outside of ASCII, and the signs that no address has, in percent-encoding.
    fileprivate var percentEncoded: String {
        Array(utf8).percentEncoded { (0x21..<0x7F).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) }
    }
}

extension Unicode.Scalar {
    /// Whether an address ends before the scalar: a blank, a bracket around addresses, or the mark of a file.
    fileprivate var endsAddress: Bool {
        properties.isWhitespace || self == "<" || self == ">" || self == "\u{FFFC}"
    }
}

extension OutboundMessage {
    /// Returns a text with web addresses as texts and links, in its order; nil for any other message.
    ///
    /// The server reads title and image of each page when it sends the link; until then `title` returns the title
    /// of an address. The result is nil for more than `maximum` addresses, and for a text with files.
    package func splitAtLinks(
        hosts: Set<String>, maximum: Int, title: (String) -> String
    ) -> [OutboundMessage]? {
        guard let text = textOnly else { return nil }
        let links = text.webLinks(hosts: hosts)
        guard (1...max(1, maximum)).contains(links.count) else { return nil }
        var parts: [OutboundMessage] = []
        var place = text.startIndex
        func add(_ words: Substring) {
            let words = words.words
            if !words.isEmpty { parts.append(.text(words)) }
        }
        for link in links {
            add(text[place..<link.range.lowerBound])
            parts.append(.richLink(RichLink(link.url, title: title(link.url), image: nil).read()))
            place = link.range.upperBound
        }
        add(text[place...])
        return parts
    }

    /// The number of web addresses in a text without files; 0 for any other message.
    package func linkCount(hosts: Set<String>) -> Int { textOnly?.webLinks(hosts: hosts).count ?? 0 }

    /// The words of a text that has nothing else.
    private var textOnly: String? {
        guard kind == .text, !hasFiles, let root = (try? JSONDocument(draft()))?.root else { return nil }
        guard root.members.allSatisfy({ $0.key == "type" || $0.key == "body" }) else { return nil }
        return root["body"]?.string
    }
}

extension Substring {
    /// The text without the blanks and the signs that were around an address.
    fileprivate var words: String {
        let behind = unicodeScalars.drop {
            $0.properties.isWhitespace || ".,;:!?)]}>\"'".unicodeScalars.contains($0)
        }
        let end = behind.lastIndex {
            !$0.properties.isWhitespace && !"([{<\"'".unicodeScalars.contains($0)
        }
        return end.map { String(behind[...$0]) } ?? ""
    }
}
