/// The first form of a web page, as far as a simulated device fills it in.
struct DeviceWebForm {
    private struct Field {
        let name: String
        let value: String
        let autocomplete: String?
        let isButton: Bool
    }

    /// The address to which the form is sent; empty means the address of the page.
    let action: String
    private let fields: [Field]

    /// Reads the form of a page; nil when it has none.
    init?(_ page: [UInt8]) {
        let text = String(decoding: page, as: UTF8.self)
        guard let start = text.firstRange(of: "<form") else { return nil }
        let end = text[start.upperBound...].firstRange(of: "</form")?.lowerBound ?? text.endIndex
        var tags = text[start.lowerBound..<end].split(separator: "<").map { $0.prefix { $0 != ">" } }
        guard !tags.isEmpty else { return nil }
        action = Self.attributes(of: tags.removeFirst())["action"] ?? ""
        fields = tags.compactMap { tag in
            let element = tag.prefix { !$0.isWhitespace }
            guard element == "input" || element == "button" else { return nil }
            let attributes = Self.attributes(of: tag)
            guard let name = attributes["name"], !name.isEmpty else { return nil }
            return Field(
                name: name, value: attributes["value"] ?? "", autocomplete: attributes["autocomplete"],
                isButton: element == "button" || attributes["type"] == "submit")
        }
    }

    /// The fields that the customer sends: hidden ones as they are, others by their `autocomplete`.
    ///
    /// A customer who declines presses the button named `deny`. Any other customer presses the first other
    /// button that has a name.
    func fields(filledBy account: DeviceSignIn.Account) -> [(String, String)] {
        let buttons = fields.filter(\.isButton)
        let declining = buttons.first { $0.name == "deny" }
        let pressed = account.declines ? declining : buttons.first { $0.name != "deny" }
        let filled = fields.filter { !$0.isButton }.map { field in
            switch field.autocomplete {
            case "username": (field.name, account.user)
            case "current-password": (field.name, account.password)
            case "one-time-code": (field.name, account.oneTimeCode)
            default: (field.name, field.value)
            }
        }
        return filled + (pressed.map { [($0.name, $0.value)] } ?? [])
    }

    /// The attributes of a tag whose values are in double quotation marks, such as `name="a"`.
    private static func attributes(of tag: Substring) -> [String: String] {
        var result: [String: String] = [:]
        var rest = tag
        while let sign = rest.firstRange(of: "=\"") {
            let name = rest[..<sign.lowerBound].split(whereSeparator: \.isWhitespace).last ?? ""
            let value = rest[sign.upperBound...].prefix { $0 != "\"" }
            result[String(name)] = unescaped(value)
            rest = rest[value.endIndex...].dropFirst()
        }
        return result
    }

    private static func unescaped(_ text: Substring) -> String {
        [("&quot;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
            .reduce(String(text)) { $0.replacing($1.0, with: $1.1) }
    }
}
