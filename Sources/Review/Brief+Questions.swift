extension Brief {
    /// Asks for what the brief does not say yet, question by question.
    ///
    /// `answer` gets a question and returns the line that a person typed, or nil at the end of the input, which ends the
    /// questions. An empty line leaves a member empty.
    package mutating func complete(_ answer: (String) async -> String?) async {
        do {
            try await completeTexts(answer)
            try await completeLists(answer)
            for declaration in Declaration.allCases where declarations[declaration] == nil {
                let line = try await Self.line("\(declaration.words) (yes or no)", answer).lowercased()
                if !line.isEmpty { declarations[declaration] = line.hasPrefix("y") }
            }
        } catch {
            // The rest stays empty.
        }
    }

    private struct InputEnd: Error {}

    private static func line(_ question: String, _ answer: (String) async -> String?) async throws(InputEnd)
        -> String
    {
        guard let line = await answer(question) else { throw InputEnd() }
        return String(line.split(whereSeparator: \.isWhitespace).joined(separator: " ").prefix(500))
    }

    private static func list(_ question: String, _ answer: (String) async -> String?) async throws(InputEnd)
        -> [String]
    {
        try await line(question + " (with commas between)", answer).split(separator: ",")
            .map { $0.split(separator: " ").joined(separator: " ") }.filter { !$0.isEmpty }
    }

    private mutating func completeTexts(_ answer: (String) async -> String?) async throws(InputEnd) {
        let questions: [(String, WritableKeyPath<Brief, String>)] = [
            ("The brand as it is registered with Apple", \.brand), ("The opening hours, in words", \.hours),
            ("The text for customers while nobody answers", \.closedText),
            ("The user name of the test sign-in", \.signIn),
        ]
        for (question, member) in questions where self[keyPath: member].isEmpty {
            self[keyPath: member] = try await Self.line(question, answer)
        }
        for index in languages.indices {
            let questions: [(String, WritableKeyPath<LanguageCase, String>)] = [
                ("a customer's greeting", \.hello), ("a customer's word for a person", \.help),
                ("a word of your own greeting", \.expect),
            ]
            for (question, member) in questions where languages[index][keyPath: member].isEmpty {
                languages[index][keyPath: member] = try await Self.line(
                    "In \(languages[index].locale), \(question)", answer)
            }
        }
    }

    private mutating func completeLists(_ answer: (String) async -> String?) async throws(InputEnd) {
        while useCases.count < 4 {
            let words = try await Self.line("The first words of a use case; empty for no more", answer)
            if words.isEmpty { break }
            let path = try await Self.list("The choices after \"\(words)\"", answer)
            let kinds = try await Self.list("The kinds of messages that must come", answer)
            useCases.append(UseCase(name: words, words: words, path: path, expect: kinds))
        }
        while agents.count < 2 {
            let name = try await Self.line("A person of the help desk; empty for no more", answer)
            if name.isEmpty { break }
            let first = try await Self.line("What \(name) writes first", answer)
            let last = try await Self.line("What \(name) writes at the end", answer)
            agents.append(Agent(name: name, says: [first, last].filter { !$0.isEmpty }))
        }
        while logos.count < 4 {
            let file = try await Self.line("A file of the logo; empty for no more", answer)
            if file.isEmpty { break }
            let color = try await Self.line("The color behind \(file), as #rrggbb", answer)
            logos.append(Logo(file: file, background: color))
        }
        if domains.isEmpty { domains = try await Self.list("The business's own hosts", answer) }
        if entryPages.isEmpty {
            entryPages = try await Self.list("Pages with the button that begins a conversation", answer)
        }
        if notices == nil {
            let found = try await Self.list("Notices that the business sends; - for none", answer)
            if !found.isEmpty { notices = found == ["-"] ? [] : found }
        }
    }
}
