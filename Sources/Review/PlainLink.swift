/// Web addresses in texts.
enum PlainLink {
    /// Endings of host names without `http` or `www` that count as addresses in a text.
    private static let endings: Set<String> = [
        "com", "net", "org", "info", "biz", "io", "co", "app", "shop", "store", "dev", "eu", "de", "at", "ch",
        "fr", "es", "it", "nl", "uk", "us", "ly", "me", "link", "page", "example",
    ]

    /// The first web address of a text; addresses of e-mail do not count.
    ///
    /// `hosts` are further hosts that count.
    static func first(in text: String, hosts: [String]) -> String? {
        for word in text.split(whereSeparator: \.isWhitespace) {
            let word = word.trimming { "()[]<>\"'“”‘’,;:!?.…*".contains($0) }
            let small = word.lowercased()
            if small.contains("http://") || small.contains("https://") { return String(word) }
            guard !small.contains("@") else { continue }
            let host = small.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            let labels = host.split(separator: ".", omittingEmptySubsequences: false)
            guard labels.count > 1,
                labels.allSatisfy({ label in
                    !label.isEmpty && label.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" }
                })
            else { continue }
            if labels[0] == "www" || hosts.contains(where: { $0.lowercased() == host }) {
                return String(word)
            }
            if let last = labels.last, endings.contains(String(last)) { return String(word) }
        }
        return nil
    }
}

extension Substring {
    /// The text without the matching characters at both ends.
    func trimming(_ matches: (Character) -> Bool) -> Substring {
        var text = drop(while: matches)
        while let last = text.last, matches(last) { text.removeLast() }
        return text
    }
}
