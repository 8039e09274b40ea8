import BusinessMessages

/// A business that a command knows.
struct KnownBusiness: Equatable {
    /// Its name in commands; nil when only the data directory names it.
    let slug: String?
    let id: BusinessID

    /// The business with that slug or identifier, or the only one whose slug or identifier begins with `text`.
    static func find(
        _ text: String, among known: [KnownBusiness]
    ) throws(CommandFailure) -> KnownBusiness {
        if let exact = known.first(where: { $0.slug == text || $0.id.rawValue == text }) { return exact }
        let found = known.filter { business in
            [business.slug, business.id.rawValue].compactMap(\.self).contains { $0.hasPrefix(text) }
        }
        guard found.count == 1, let business = found.first, !text.isEmpty else {
            throw .unknownArgument(
                "--business \(terminalText(text))",
                reason: found.isEmpty ? "matches no business" : "matches \(found.count) businesses",
                hint: known.isEmpty
                    ? "no business is known yet"
                    : "the businesses are \(known.map(\.name).joined(separator: ", "))")
        }
        return business
    }

    private var name: String { terminalText(slug ?? id.rawValue) }
}
