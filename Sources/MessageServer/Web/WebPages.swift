import BalloonHTTP
import BalloonWire

/// The web pages and their files as complete HTTP answers, plain and compressed.
///
/// The addresses of all files have the same folder, which is named by the SHA-256 of them all. So a browser may keep
/// each file forever, modules import each other by relative names, and a page never mixes files of two versions.
struct WebPages: Sendable {
    /// The name of the folder in the files' addresses.
    let version: String
    private let answers: [String: Answer]

    private struct Answer: Sendable {
        let plain: HTTPResponse
        let compressed: HTTPResponse
    }

    /// The pages that are compiled into the program; prepared at the first request.
    static let embedded = WebPages(WebFile.embedded, isImmutable: true)

    /// The byte that stands for ``version`` in the source of a page.
    private static let placeholder = UInt8(ascii: "~")

    /// Prepares the answers; with `isImmutable`, browsers may cache the files forever, otherwise they must not cache
    /// them.
    init(_ files: [WebFile], isImmutable: Bool) {
        var sum = SHA256()
        for file in files.sorted(by: { $0.name < $1.name }) {
            sum.update((Array(file.name.utf8) + [0]).span)
            sum.update(file.bytes.span)
        }
        let digest = sum.finish()
        let version = Hex.encode((0..<8).map { digest[$0] })
        let gzip = GzipCompressor()
        var answers: [String: Answer] = [:]
        for file in files {
            let isPage = file.name.hasSuffix(".html")
            let bytes = isPage ? Self.naming(version, in: file.bytes) : file.bytes
            let fields = Self.fields(isPage: isPage, isImmutable: isImmutable)
            answers[file.name] = Answer(
                plain: HTTPResponse(.ok, contentType: file.contentType, body: bytes, fields: fields),
                compressed: HTTPResponse(
                    .ok, contentType: file.contentType, body: gzip.compress(bytes),
                    fields: fields + [("Content-Encoding", "gzip")]))
        }
        self.version = version
        self.answers = answers
    }

    private static func naming(_ version: String, in page: [UInt8]) -> [UInt8] {
        Array(
            page.split(separator: placeholder, omittingEmptySubsequences: false).joined(
                separator: version.utf8))
    }

    /// The answer with this file; nil when no file has the name.
    func answer(_ name: String, acceptsGzip: Bool) -> HTTPResponse? {
        guard let answer = answers[name] else { return nil }
        return acceptsGzip ? answer.compressed : answer.plain
    }

    /// The Content-Security-Policy of every page: only scripts and styles of this server, no embedding in a frame, and
    /// no text that becomes markup (Trusted Types).
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src 'self' data: blob:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    private static func fields(isPage: Bool, isImmutable: Bool) -> [(name: String, value: String)] {
        let isKept = !isPage && isImmutable
        return [
            ("Cache-Control", isKept ? "public, max-age=31536000, immutable" : "no-store"),
            ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Vary", "Accept-Encoding"),
        ]
    }

    /// The routes of a page and of its files, whose folder is named after the version of the page.
    ///
    /// The files come from `folder` at each request, for developers of the page; nil uses those in the program. `refuse`
    /// returns nil for a request that is admitted.
    static func routes(
        _ page: String, at paths: [String], files: String, from folder: String?,
        refuse: @escaping @Sendable (HTTPRequest, _ path: String) -> HTTPResponse?,
        notFound: @escaping @Sendable (_ path: String) -> HTTPResponse
    ) -> [HTTPRoute] {
        func route(_ path: String, _ file: @escaping @Sendable (HTTPRequest, WebPages) -> String?)
            -> HTTPRoute
        {
            HTTPRoute(.get, path) { request, _ in
                if let refusal = refuse(request, path) { return refusal }
                let pages =
                    folder.map { WebPages(WebFile.read(from: $0), isImmutable: false) } ?? WebPages.embedded
                let acceptsGzip = InboxRoutes.acceptsGzip(request.text(.acceptEncoding))
                return file(request, pages).flatMap { pages.answer($0, acceptsGzip: acceptsGzip) }
                    ?? notFound(path)
            }
        }
        return paths.map { route($0) { _, _ in page } } + [
            route(files) { request, pages in
                guard request.parameter("version") == pages.version else { return nil }
                return request.parameter("file").flatMap { $0.hasSuffix(".html") ? nil : $0 }
            }
        ]
    }
}
