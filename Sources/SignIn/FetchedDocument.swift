import BalloonJSON
import BalloonTransport

/// A provider's document, with the time for which a cache may keep it.
struct FetchedDocument<Document: Sendable>: Sendable {
    let document: Document
    /// The time for which a cache may keep the document, from a minute to a day.
    let lifetime: Duration

    /// The maximum of ``lifetime``, after which a document is fetched again.
    static var maximumLifetime: Duration { .seconds(86_400) }
    /// The minimum of ``lifetime``, so that a provider that forbids caches is not asked at each sign-in.
    static var minimumLifetime: Duration { .seconds(60) }
}

/// The seconds for which an answer stays fresh: `max-age` minus `Age`, from 0 to a day (RFC 9111 §5.2.2).
///
/// The result is a day without `max-age`, and 0 with `no-store` or `no-cache`.
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
    guard digits.utf8.allSatisfy(\.isDigit), !digits.isEmpty else { return 0 }
    // A number too large for an integer is longer than a day.
    let seconds = min(Int(digits) ?? day, day)
    let spent = min(max(age.flatMap { Int($0) } ?? 0, 0), day)
    return max(seconds - spent, 0)
}
