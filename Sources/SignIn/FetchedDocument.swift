import BalloonTransport

/// A document of a provider with the time for which its answer allows a cache to keep it.
struct FetchedDocument<Document: Sendable>: Sendable {
    let document: Document
    /// From a minute to a day.
    let lifetime: Duration

    /// The longest time without a new fetch.
    static var maximumLifetime: Duration { .seconds(86_400) }
    /// The shortest time, so that a provider that forbids caches is not asked at each sign-in.
    static var minimumLifetime: Duration { .seconds(60) }
}

/// The rest of `max-age` after `Age`, within 0 to a day; a day without `max-age`, and 0 with `no-store` or `no-cache`
/// (RFC 9111 §5.2.2).
func freshSeconds(cacheControl: String?, age: String?) -> Int {
    let day = 86_400
    let directives = (cacheControl ?? "").lowercased().split(separator: ",").map { part in
        String(part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
    }
    if directives.contains("no-store") || directives.contains("no-cache") { return 0 }
    guard let text = directives.first(where: { $0.hasPrefix("max-age=") })?.dropFirst("max-age=".count) else {
        return day
    }
    let digits = text.hasPrefix("\"") ? text.dropFirst().prefix { $0 != "\"" } : text
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), !digits.isEmpty else { return 0 }
    // A number too large for an integer is longer than a day.
    let seconds = min(Int(digits) ?? day, day)
    let spent = min(max(age.flatMap { Int($0) } ?? 0, 0), day)
    return max(seconds - spent, 0)
}
