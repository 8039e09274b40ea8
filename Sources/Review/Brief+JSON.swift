package import BalloonJSON

extension Brief {
    /// The first mistake of a brief.
    package struct Mistake: Error {
        /// The value at fault.
        package let value: JSONValue
        /// The fault.
        package let reason: String
    }

    /// Reads a brief; throws the first mistake.
    package init(_ root: JSONValue) throws(Mistake) {
        guard root["format"]?.int == 1 else {
            throw Mistake(value: root, reason: "is not a brief with \"format\": 1")
        }
        let members = [
            "$schema", "format", "useCases", "languages", "hours", "closedText", "agents", "signIn",
            "domains", "brand", "logos", "entryPages", "notices", "declarations",
        ]
        try Self.check(root, members)
        useCases = try Self.list(root["useCases"], at: 8) { value throws(Mistake) in
            try Self.check(value, ["name", "words", "path", "expect"])
            return UseCase(
                name: try Self.text(value["name"]), words: try Self.text(value["words"]),
                path: try Self.texts(value["path"]), expect: try Self.texts(value["expect"]))
        }
        languages = try Self.list(root["languages"], at: 20) { value throws(Mistake) in
            try Self.check(value, ["locale", "hello", "help", "expect"])
            return LanguageCase(
                locale: try Self.text(value["locale"]), hello: try Self.text(value["hello"]),
                help: try Self.text(value["help"]), expect: try Self.text(value["expect"]))
        }
        hours = try Self.text(root["hours"])
        closedText = try Self.text(root["closedText"])
        agents = try Self.list(root["agents"], at: 2) { value throws(Mistake) in
            try Self.check(value, ["name", "says"])
            return Agent(name: try Self.text(value["name"]), says: try Self.texts(value["says"]))
        }
        signIn = try Self.text(root["signIn"])
        domains = try Self.texts(root["domains"])
        brand = try Self.text(root["brand"])
        logos = try Self.list(root["logos"], at: 4) { value throws(Mistake) in
            try Self.check(value, ["file", "background"])
            return Logo(file: try Self.text(value["file"]), background: try Self.text(value["background"]))
        }
        entryPages = try Self.texts(root["entryPages"])
        // Rows that `--write-brief` left empty say nothing.
        useCases.removeAll { $0.words.isEmpty }
        languages.removeAll { $0.locale.isEmpty }
        agents.removeAll { $0.name.isEmpty }
        logos.removeAll { $0.file.isEmpty }
        if let notices = root["notices"], !notices.isNull { self.notices = try Self.texts(notices) }
        if let object = root["declarations"] {
            try Self.check(object, Declaration.allCases.map(\.rawValue))
            for (name, value) in object.members where !value.isNull {
                guard let flag = value.bool, let declaration = Declaration(rawValue: name) else {
                    throw Mistake(value: value, reason: "is not true or false")
                }
                declarations[declaration] = flag
            }
        }
    }

    /// The brief as JSON for people, with an empty value for everything that it does not say.
    package var json: String {
        let useCases = self.useCases.isEmpty ? [UseCase()] : self.useCases
        let languages = self.languages.isEmpty ? [LanguageCase(locale: "")] : self.languages
        let agents = self.agents.isEmpty ? [Agent(), Agent()] : self.agents
        let logos = self.logos.isEmpty ? [Logo()] : self.logos
        var lines = ["\"format\": 1"]
        lines.append(
            Self.block(
                "useCases",
                useCases.map {
                    "{ \"name\": \(quoted($0.name)), \"words\": \(quoted($0.words)), \"path\": \(Self.array($0.path)), \"expect\": \(Self.array($0.expect)) }"
                }))
        lines.append(
            Self.block(
                "languages",
                languages.map {
                    "{ \"locale\": \(quoted($0.locale)), \"hello\": \(quoted($0.hello)), \"help\": \(quoted($0.help)), \"expect\": \(quoted($0.expect)) }"
                }))
        lines.append("\"hours\": \(quoted(hours))")
        lines.append("\"closedText\": \(quoted(closedText))")
        lines.append(
            Self.block(
                "agents",
                agents.map { "{ \"name\": \(quoted($0.name)), \"says\": \(Self.array($0.says)) }" }))
        lines.append("\"signIn\": \(quoted(signIn))")
        lines.append("\"domains\": \(Self.array(domains))")
        lines.append("\"brand\": \(quoted(brand))")
        lines.append(
            Self.block(
                "logos",
                logos.map { "{ \"file\": \(quoted($0.file)), \"background\": \(quoted($0.background)) }" }))
        lines.append("\"entryPages\": \(Self.array(entryPages))")
        lines.append("\"notices\": \(notices.map(Self.array) ?? "null")")
        let declared = Declaration.allCases.map {
            "\(quoted($0.rawValue)): \(declarations[$0].map { "\($0)" } ?? "null")"
        }
        lines.append(
            "\"declarations\": {\n" + declared.map { "        " + $0 }.joined(separator: ",\n") + "\n    }")
        return "{\n" + lines.map { "    " + $0 }.joined(separator: ",\n") + "\n}\n"
    }

    private static func block(_ name: String, _ rows: [String]) -> String {
        "\"\(name)\": [\n" + rows.map { "        " + $0 }.joined(separator: ",\n") + "\n    ]"
    }

    private static func array(_ texts: [String]) -> String {
        "[" + texts.map(quoted).joined(separator: ", ") + "]"
    }

    private static let maximumTextBytes = 2000

    private static func check(_ object: JSONValue, _ members: [String]) throws(Mistake) {
        guard object.kind == .object else { throw Mistake(value: object, reason: "is not an object") }
        for (name, value) in object.members where !members.contains(name) {
            throw Mistake(
                value: value,
                reason: "\"\(name)\" is not a member here: the members are \(members.joined(separator: ", "))"
            )
        }
    }

    private static func list<Element>(
        _ value: JSONValue?, at maximum: Int, _ read: (JSONValue) throws(Mistake) -> Element
    ) throws(Mistake) -> [Element] {
        guard let value, !value.isNull else { return [] }
        guard value.kind == .array, value.count <= maximum else {
            throw Mistake(value: value, reason: "is not a list of at most \(maximum)")
        }
        var elements: [Element] = []
        for element in value.elements { elements.append(try read(element)) }
        return elements
    }

    private static func texts(_ value: JSONValue?) throws(Mistake) -> [String] {
        try list(value, at: 50) { element throws(Mistake) in try text(element) }
    }

    private static func text(_ value: JSONValue?) throws(Mistake) -> String {
        guard let value, !value.isNull else { return "" }
        guard let text = value.string, text.utf8.count <= maximumTextBytes else {
            throw Mistake(value: value, reason: "is not a text of at most \(maximumTextBytes) bytes")
        }
        return text
    }
}

/// A text as JSON.
func quoted(_ text: String) -> String { String(decoding: JSONWriter.quoted(text), as: UTF8.self) }
