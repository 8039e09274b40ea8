import BalloonHTTP

/// The routes of the inbox, the web page for people on the admin listener: `/inbox` and the page's files.
///
/// The page is the same for everybody and contains nothing about customers. Its scripts ask for a token and use the
/// business API like any other program.
struct InboxRoutes: Sendable {
    let api: BusinessAPI
    /// A folder from which the files are read at each request, for developers of the page; nil uses the files in the
    /// program.
    let folder: String?

    func routes() -> [HTTPRoute] {
        WebPages.routes(
            "inbox.html", at: ["/inbox", "/inbox/"], files: "/inbox/{version}/{file}", from: folder,
            refuse: refusal, notFound: notFound)
    }

    /// The answer when the inbox is disabled, or when `Host` does not name this listener; nil when the request is
    /// admitted.
    private func refusal(of request: HTTPRequest, _ path: String) -> HTTPResponse? {
        guard api.access.hasInbox else { return notFound(path) }
        guard !api.access.isOwn(host: request.text(.host)) else { return nil }
        return api.refuse(APIAccess.misdirected, APIFacts(method: .get, path: path))
    }

    private func notFound(_ path: String) -> HTTPResponse {
        api.refuse(HTTPRefusal.notFound.problem, APIFacts(method: .get, path: path))
    }

    /// Whether `Accept-Encoding` names gzip without the weight 0 (RFC 9110 §12.5.3).
    static func acceptsGzip(_ field: String?) -> Bool {
        guard let field else { return false }
        return field.lowercased().split(separator: ",").contains { item in
            let parts = item.split(separator: ";").map { String($0.filter { $0 != " " && $0 != "\t" }) }
            guard let name = parts.first, name == "gzip" || name == "x-gzip" else { return false }
            return !parts.dropFirst().contains {
                $0.hasPrefix("q=0") && !$0.contains { ("1"..."9").contains($0) }
            }
        }
    }
}
