import BalloonHTTP
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import ServerTestSupport
import TestSupport
import Testing

@testable import MessageServer

/// The inbox's page and files on the admin listener.
@Suite struct InboxRouteTests {
    private static func server(
        adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> ServerUnderTest {
        try await ServerUnderTest.withAPI {
            $0.api.hasInbox = true
            adjust(&$0)
        }
    }

    private static func text(_ answer: TransportResponse) -> String {
        String(decoding: answer.body, as: UTF8.self)
    }

    /// The addresses of files in a page.
    private static func addresses(in page: String) -> [String] {
        page.split(separator: "\"").map(String.init).filter { $0.hasPrefix("/inbox/") }
    }

    @Test func `the page needs no token, has the Content-Security-Policy, and names no business or customer`()
        async throws
    {
        let server = try await Self.server()
        for path in ["/inbox", "/inbox/"] {
            let page = try await server.api(path, nil)
            #expect(page.status == 200)
            #expect(page.header("Content-Type") == "text/html; charset=utf-8")
            #expect(page.header("Cache-Control") == "no-store")
            #expect(
                page.header("Content-Security-Policy")
                    == """
                    default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                    img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                    require-trusted-types-for 'script'; trusted-types 'none'
                    """)
            #expect(page.header("X-Content-Type-Options") == "nosniff")
            for business in server.configuration.businesses {
                #expect(!Self.text(page).contains(business.name))
                #expect(!Self.text(page).contains(business.businessID.rawValue))
            }
        }
        await server.stop(secrets: ["bln_"])
    }

    @Test func `every file that the page or a module names is served, and may be kept forever`() async throws
    {
        let server = try await Self.server()
        let page = Self.text(try await server.api("/inbox", nil))
        let addresses = Self.addresses(in: page)
        let names = Set(addresses.compactMap { $0.split(separator: "/").last.map(String.init) })
        for address in addresses {
            let answer = try await server.api(address, nil)
            #expect(answer.status == 200, "\(address)")
            #expect(answer.header("Cache-Control") == "public, max-age=31536000, immutable")
            #expect(answer.header("Content-Type") != "application/octet-stream")
            for line in Self.text(answer).split(separator: "\n") where line.hasPrefix("import ") {
                let name = try #require(line.split(separator: "\"").dropFirst().first)
                #expect(name.hasPrefix("./") && names.contains(String(name.dropFirst(2))), "\(line)")
            }
        }
        await server.stop()
    }

    @Test func `a browser gets the files compressed when it accepts that`() async throws {
        let server = try await Self.server()
        let page = Self.text(try await server.api("/inbox", nil))
        let decompressor = GzipDecompressor()
        for address in ["/inbox"] + Self.addresses(in: page) {
            let plain = try await server.api(address, nil)
            let accepted = [(name: "Accept-Encoding", value: "br, gzip;q=0.8")]
            let compressed = try await server.api(address, nil, headers: accepted)
            #expect(plain.header("Content-Encoding") == nil && plain.header("Vary") == "Accept-Encoding")
            #expect(compressed.header("Content-Encoding") == "gzip")
            var content: [UInt8] = []
            try decompressor.decompress(
                compressed.body, into: &content, maximumBytes: 1 << 20, maximumRatio: 1000)
            #expect(content == plain.body)
        }
        await server.stop()
    }

    @Test(arguments: ["inbox", "phone"])
    func `a page opens with at most 120 KB of files, 40 KB of them sent`(page: String) throws {
        var (bytes, sentBytes) = (0, 0)
        for name in try Self.files(namedBy: page).union(["\(page).html"]) {
            bytes += try #require(WebPages.embedded.answer(name, acceptsGzip: false)).body.count
            sentBytes += try #require(WebPages.embedded.answer(name, acceptsGzip: true)).body.count
        }
        #expect(bytes <= 120_000 && sentBytes <= 40_000, "\(bytes) bytes, \(sentBytes) sent")
    }

    @Test func `the phone has at most 205 KB of files with every screen, 68 KB of them sent`() throws {
        var (bytes, sentBytes) = (0, 0)
        for name in try Self.files(of: "phone").union(["phone.html"]) {
            bytes += try #require(WebPages.embedded.answer(name, acceptsGzip: false)).body.count
            sentBytes += try #require(WebPages.embedded.answer(name, acceptsGzip: true)).body.count
        }
        #expect(bytes <= 205_000 && sentBytes <= 68_000, "\(bytes) bytes, \(sentBytes) sent")
    }

    @Test func `a page names every module that it needs to open, and every file belongs to a page`() throws {
        var known: Set<String> = ["inbox.html", "phone.html"]
        for page in ["inbox", "phone"] {
            let named = try Self.files(namedBy: page)
            for name in named where name.hasSuffix(".js") {
                #expect(try Self.modules(of: name).imported.isSubset(of: named), "\(page): \(name)")
            }
            known.formUnion(try Self.files(of: page))
        }
        #expect(known == Set(WebFile.names))
    }

    /// The files that the page's own text names, which a browser loads at once.
    private static func files(namedBy page: String) throws -> Set<String> {
        let folder = page == "inbox" ? "/inbox/~/" : "/assets/~/"
        return Set(
            try text(of: "\(page).html").split(separator: "\"").filter { $0.hasPrefix(folder) }.map {
                String($0.dropFirst(folder.utf8.count))
            })
    }

    /// The files of a page with every screen: those that it names, and those that they load.
    private static func files(of page: String) throws -> Set<String> {
        var found = try files(namedBy: page)
        var unread = Array(found)
        while let name = unread.popLast() {
            guard name.hasSuffix(".js") else { continue }
            let modules = try modules(of: name)
            for module in modules.imported.union(modules.loadedLater) where found.insert(module).inserted {
                unread.append(module)
            }
        }
        return found
    }

    /// The modules that a script imports, and the modules and style sheets that it loads when one of its screens is opened.
    private static func modules(of script: String) throws -> (imported: Set<String>, loadedLater: Set<String>)
    {
        var (imported, loadedLater): (Set<String>, Set<String>) = ([], [])
        for line in try text(of: script).split(separator: "\n") {
            let isImport = line.hasPrefix("import ")
            guard isImport || line.contains("import(") else { continue }
            let address = try #require(line.split(separator: "\"").first { $0.hasPrefix("./") }, "\(line)")
            if isImport {
                imported.insert(String(address.dropFirst(2)))
            } else {
                loadedLater.insert(String(address.dropFirst(2)))
                loadedLater.formUnion(
                    line.split(separator: "\"").filter { $0.hasSuffix(".css") }.map(String.init))
            }
        }
        return (imported, loadedLater)
    }

    private static let embedded = WebFile.embedded

    private static func text(of name: String) throws -> String {
        let file = try #require(embedded.first { $0.name == name }, "\(name)")
        return String(decoding: file.bytes, as: UTF8.self)
    }

    @Test(arguments: [
        (nil, false), ("", false), ("gzip", true), ("deflate, GZIP", true), ("gzip;q=0", false),
        ("gzip; q=0.000", false), ("gzip;q=0.1", true), ("br", false), ("x-gzip", true), ("gzipped", false),
    ])
    func `gzip is used when Accept-Encoding names it with a weight`(field: String?, isAccepted: Bool) {
        #expect(InboxRoutes.acceptsGzip(field) == isAccepted)
    }

    @Test func `another version, an unknown file and the page's file are not found`() async throws {
        let server = try await Self.server()
        let page = Self.text(try await server.api("/inbox", nil))
        let address = try #require(Self.addresses(in: page).first)
        let folder = address.split(separator: "/").dropLast().joined(separator: "/")
        for path in [
            "/inbox/0000000000000000/inbox.js", "/\(folder)/unknown.js", "/\(folder)/inbox.html",
            "/\(folder)/..%2Finbox.js", "/inbox/inbox.js", "/\(folder)/inbox.js/x",
        ] {
            let answer = try await server.api(path, nil)
            #expect(answer.status == 404, "\(path)")
            #expect(answer.header("Content-Security-Policy") == nil)
        }
        await server.stop()
    }

    @Test func `a foreign Host gets misdirected, and a Host in api hosts is served`() async throws {
        let server = try await Self.server { $0.api.hosts = ["desk.example.com"] }
        let page = Self.text(try await server.api("/inbox", nil))
        let file = try #require(Self.addresses(in: page).first)
        for path in ["/inbox", file] {
            let evil = try await server.api(path, nil, headers: [("Host", "evil.example")])
            #expect(evil.status == 421 && evil.problem == "misdirected")
            let known = try await server.api(path, nil, headers: [("Host", "desk.example.com")])
            #expect(known.status == 200)
        }
        await server.stop()
    }

    @Test func `without the setting, or without tokens, the inbox is not found; a reload switches it`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        let page = "/inbox"
        let file = "/inbox/\(WebPages.embedded.version)/inbox.js"
        var configuration = server.configuration
        func statuses() async throws -> [Int] {
            [try await server.api(page, nil).status, try await server.api(file, nil).status]
        }
        #expect(try await statuses() == [404, 404])
        #expect(try await server.api(page, nil).problem == "not-found")
        configuration.api.hasInbox = true
        await server.reload { [configuration] () throws(ConfigurationError) in configuration }
        #expect(try await statuses() == [200, 200])
        configuration.api.tokens = []
        await server.reload { [configuration] () throws(ConfigurationError) in configuration }
        #expect(try await statuses() == [404, 404])
        await server.stop()
    }

    @Test func `with a folder of web files each request reads the folder, and browsers cache nothing`()
        async throws
    {
        let directory = TemporaryDirectory()
        func write(_ text: String, to name: String) throws {
            try AtomicFile.write(Array(text.utf8), to: directory.file(name))
        }
        try write("<p>~</p>", to: "inbox.html")
        try write("  one", to: "inbox.js")
        let server = try await Self.server { $0.webFolder = directory.path }
        func script() async throws -> String {
            let page = Self.text(try await server.api("/inbox", nil))
            let version = page.dropFirst(3).dropLast(4)
            let answer = try await server.api("/inbox/\(version)/inbox.js", nil)
            #expect(answer.header("Cache-Control") == "no-store")
            return Self.text(answer)
        }
        #expect(try await script() == "  one")
        try write("two", to: "inbox.js")
        #expect(try await script() == "two")
        await server.stop()
        withExtendedLifetime(directory) {}
    }

    @Test
    func
        `a condensed file keeps its line numbers, and loses indentation, comment lines and the spaces of a style sheet`()
    {
        let script = WebFile(name: "a.js", bytes: Array("// one\n  two // three\n    //\n\nfour".utf8))
        #expect(script.condensed.bytes == Array("\ntwo // three\n\n\nfour".utf8))
        let sheet = WebFile(
            name: "a.css",
            bytes: Array(
                "/* one */\n  a b, c:is(d, e) { margin: 0 auto; content: \": {\"; } /* two */\n  }".utf8))
        #expect(
            sheet.condensed.bytes
                == Array("\na b,c:is(d,e){margin:0 auto;content:\": {\";} /* two */\n}".utf8))
    }
}
