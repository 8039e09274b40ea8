import BalloonJSON

/// The title and the image that a web page names for its preview.
///
/// The page is untrusted: nothing of it is run, and everything is read once, from its start to its `body`.
struct PageHead: Equatable, Sendable {
    /// The title; at most 200 characters, without controls.
    private(set) var title: String?
    /// The address of the image, as the page writes it.
    private(set) var image: String?

    private static let maximumTitleCharacters = 200

    /// Reads a page in UTF-8.
    init(_ page: [UInt8]) {
        var scanner = Scanner(page[...])
        var plain: String?
        while let tag = scanner.nextTag() {
            switch tag.name {
            case "title" where plain == nil: plain = Self.words(scanner.text(to: "</title"))
            case "script", "style", "noscript", "template": _ = scanner.text(to: "</" + tag.name)
            case "meta":
                guard let content = tag.attributes["content"] else { continue }
                let property = tag.attributes["property"] ?? tag.attributes["name"] ?? []
                switch String(decoding: property.prefix(64), as: UTF8.self) {
                case "og:title" where title == nil: title = Self.words(content[...])
                case "og:image" where image == nil, "og:image:secure_url":
                    image = Self.decoded(content[...]).trimmed
                default: break
                }
            case "body": scanner.end()
            default: break
            }
        }
        title = title ?? plain
    }

    /// Returns the words of a text of a page; nil when there are none.
    private static func words(_ text: ArraySlice<UInt8>) -> String? {
        let scalars = decoded(text.prefix(4096)).unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            // Controls and directional marks could make the title look like another one.
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                " "
            default: scalar
            }
        }
        let text = String(String.UnicodeScalarView(scalars)).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        return text.isEmpty ? nil : String(text.prefix(maximumTitleCharacters))
    }

    private static let entities: [String: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " ", "ndash": "–", "mdash": "—",
        "auml": "ä", "ouml": "ö", "uuml": "ü", "szlig": "ß", "eacute": "é", "egrave": "è", "agrave": "à",
    ]

    /// The text with its character references replaced; unknown ones stay.
    private static func decoded(_ text: ArraySlice<UInt8>) -> String {
        var result = ""
        var rest = String(decoding: text, as: UTF8.self)[...]
        while let start = rest.firstIndex(of: "&") {
            result += rest[..<start]
            rest = rest[start...].dropFirst()
            let name = rest.prefix(10).prefix { $0 != ";" }
            guard rest.dropFirst(name.count).first == ";", let scalar = scalar(String(name)) else {
                result += "&"
                continue
            }
            result.unicodeScalars.append(scalar)
            rest = rest.dropFirst(name.count + 1)
        }
        return result + rest
    }

    private static func scalar(_ name: String) -> Unicode.Scalar? {
        guard name.hasPrefix("#") else { return entities[name] }
        let digits = name.dropFirst()
        let number = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return number.flatMap { Unicode.Scalar($0) }
    }
}

extension PageHead {
    /// Reads the tags of a page in order.
    private struct Scanner {
        struct Tag {
            let name: String
            let attributes: [String: [UInt8]]
        }

        private var rest: ArraySlice<UInt8>

        init(_ page: ArraySlice<UInt8>) { rest = page }

        mutating func end() { rest = [] }

        /// Returns the next start tag; nil at the end of the page.
        mutating func nextTag() -> Tag? {
            while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
                rest = rest[start...].dropFirst()
                if rest.starts(with: "!--".utf8) {
                    _ = text(to: "-->")
                    continue
                }
                let name = word { $0.isLetter }
                guard !name.isEmpty else { continue }
                let tag = Tag(name: name, attributes: attributes())
                if rest.first == UInt8(ascii: ">") { rest = rest.dropFirst() }
                return tag
            }
            return nil
        }

        /// Returns the text up to a mark in small letters, and continues behind the mark.
        mutating func text(to mark: String) -> ArraySlice<UInt8> {
            let mark = Array(mark.utf8)
            var place = rest.startIndex
            while let found = rest[place...].firstIndex(of: mark[0]) {
                if rest[found...].prefix(mark.count).elementsEqual(mark, by: { $0.small == $1 }) {
                    defer { rest = rest[(found + mark.count)...] }
                    return rest[..<found]
                }
                place = found + 1
            }
            defer { rest = [] }
            return rest
        }

        /// Reads the attributes up to the end of the tag; the first of a name counts.
        private mutating func attributes() -> [String: [UInt8]] {
            var attributes: [String: [UInt8]] = [:]
            while let byte = rest.first, byte != UInt8(ascii: ">") {
                let name = word { $0.isLetter || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ":") }
                guard !name.isEmpty else {
                    rest = rest.dropFirst()
                    continue
                }
                skipBlanks()
                guard rest.first == UInt8(ascii: "=") else { continue }
                rest = rest.dropFirst()
                skipBlanks()
                let value = value()
                if attributes[name] == nil { attributes[name] = Array(value) }
            }
            return attributes
        }

        private mutating func value() -> ArraySlice<UInt8> {
            if let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
                rest = rest.dropFirst()
                let end = rest.firstIndex(of: quote) ?? rest.endIndex
                defer { rest = rest[end...].dropFirst() }
                return rest[..<end]
            }
            let end = rest.firstIndex { $0.isBlank || $0 == UInt8(ascii: ">") } ?? rest.endIndex
            defer { rest = rest[end...] }
            return rest[..<end]
        }

        private mutating func word(_ isPart: (UInt8) -> Bool) -> String {
            let end = rest.firstIndex { !isPart($0) } ?? rest.endIndex
            defer { rest = rest[end...] }
            return String(decoding: rest[..<end].prefix(64).map(\.small), as: UTF8.self)
        }

        private mutating func skipBlanks() { rest = rest.drop(while: \.isBlank) }
    }
}

extension UInt8 {
    fileprivate var small: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(small) }
    fileprivate var isBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

extension String {
    fileprivate var trimmed: String? {
        let text = split(whereSeparator: \.isWhitespace).joined()
        return text.isEmpty ? nil : text
    }
}
