import BusinessMessages
import MessageServer

/// A business that the arguments of a command can name.
struct KnownBusiness: Equatable {
    /// The slug from the configuration or from `dev.json`; nil when the business is found only in the data directory's
    /// conversations or messages.
    let slug: String?
    let id: BusinessID

    /// The business with that slug or identifier, or the only one whose slug or identifier begins with `text`.
    ///
    /// Throws when no business matches, or several do.
    static func find(_ text: String, among known: [KnownBusiness]) throws(CommandFailure) -> KnownBusiness {
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

    /// The business that `name` names by its slug, its identifier, or the beginning of either; without a name, the
    /// only business.
    ///
    /// Throws when no business matches, or several do.
    static func choose(
        _ name: String?, among known: [KnownBusiness]
    ) throws(CommandFailure) -> KnownBusiness {
        if let name { return try find(name, among: known) }
        guard known.count == 1, let business = known.first else {
            throw .unknownArgument(
                "--business", reason: "is required",
                hint: "the businesses are \(known.compactMap(\.slug).joined(separator: ", "))")
        }
        return business
    }

    private var name: String { terminalText(slug ?? id.rawValue) }
}

extension KnownBusiness {
    init(_ business: BusinessConfiguration) { self.init(slug: business.slug, id: business.businessID) }
}
