import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageServer
import Testing

@testable import balloon

@Suite struct TerminalTests {
    @Test(arguments: [
        ("plain, with ü and 🎈", "plain, with ü and 🎈"), ("\u{1b}[31m", "\\u{1b}[31m"),
        ("a\nb\tc", "a\\nb\\u{9}c"),
        ("\u{202e}evil", "\\u{202e}evil"), ("\u{9b}2J", "\\u{9b}2J"),
    ])
    func `control characters are escaped`(text: String, shown: String) {
        #expect(terminalText(text) == shown)
    }

    @Test(arguments: [
        // Joined emoji, with and without a skin tone or a variation selector, and the flag of Scotland.
        "👨‍👩‍👧", "🤷🏽‍♀️", "❤️", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "می‌خواهم", "क्‍ष", "e\u{301}", "\u{0600}١٢",
    ])
    func `joiners, marks and the tags of flags are printed as they are`(text: String) {
        #expect(terminalText(text) == text)
        #expect(terminalJSON("\"\(text)\"") == "\"\(text)\"")
    }

    @Test(arguments: [
        0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069, 0x200E, 0x200F, 0x061C,
        0xAD, 0x115F, 0x1160, 0x3164, 0xFFA0, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x2060, 0x2064, 0x206F, 0xFEFF,
        0xFFFA, 0xE0041,
        0x2028, 0x2029, 0x85, 0x7F,
    ])
    func `directional controls, fillers and line separators are escaped`(value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        #expect(terminalText("a\(scalar)b") == "a\\u{\(String(value, radix: 16))}b")
    }

    @Test(arguments: [
        (#"{"a":"ü🎈"}"#, #"{"a":"ü🎈"}"#), ("\"\u{9b}2J\u{202e}\"", #""\u009b2J\u202e""#),
        ("\"\u{E0001}\"", #""\udb40\udc01""#), ("\"\u{2028}\"", #""\u2028""#),
    ])
    func `control characters in a JSON text are escaped without changing its value`(
        json: String, shown: String
    )
        throws
    {
        #expect(terminalJSON(json) == shown)
        #expect(try JSONDocument(Array(shown.utf8)).root.text.count == shown.utf8.count)
    }

    @Test(arguments: [
        ("data", "data"), ("/tmp/a-b_c.d", "/tmp/a-b_c.d"), ("", "''"), ("a b", "'a b'"),
        ("it's", #"'it'\''s'"#),
        ("$x;y", "'$x;y'"),
    ])
    func `a word is quoted when the shell would interpret it`(text: String, word: String) {
        #expect(shellWord(text) == word)
    }

    @Test(arguments: [
        ("/usr/bin/balloon", "/home/me", "/usr/local/bin:/usr/bin", "balloon"),
        ("/home/me/.build/release/balloon", "/home/me", "/usr/bin", ".build/release/balloon"),
        ("/home/me/balloon", "/home/me", "/usr/bin", "./balloon"),
        ("/home/me/balloon", "/home", "", "me/balloon"),
        ("/opt/balloon", "/home/me", "/usr/bin", "/opt/balloon"),
        ("/home/me2/balloon", "/home/me", "", "/home/me2/balloon"),
        ("/opt/balloon", "/", "", "opt/balloon"),
    ])
    func `printed commands name the program by the shortest path that starts it`(
        program: String, directory: String, searchPath: String, name: String
    ) {
        let shortest = ProgramName.shortest(program, directory, searchPath: searchPath) { path in
            path == "/usr/bin/balloon" ? path : nil
        }
        #expect(shortest == name)
    }

    @Test func `the printed commands of a server with several businesses name one`() {
        var server = DevelopmentServer.random()
        server.server = "http://127.0.0.1:1"
        let businesses = ["bread", "fish"].map {
            BusinessConfiguration(
                slug: $0, businessID: BusinessID($0), name: $0,
                handler: .builtin(name: "demo", configuration: nil))
        }
        let lines = { (businesses: [BusinessConfiguration]) in
            DevelopmentGreeting(server: server, directory: "data", handlers: businesses, page: "").text
                .split(separator: "\n").filter { $0.contains(" simulate ") || $0.contains(" chat") }
        }
        #expect(lines(businesses).count == 3)
        #expect(lines(businesses).allSatisfy { $0.contains(" --business bread") })
        #expect(lines([businesses[0]]).allSatisfy { !$0.contains("--business") })
        var recording = businesses[0]
        recording.handler = .builtin(name: "none", configuration: nil)
        #expect(lines([recording, businesses[1]]).allSatisfy { $0.contains(" --business fish") })
    }

    @Test(arguments: [
        ("127.0.0.1:80", "http://127.0.0.1:80"), ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("[::]:1", "http://[::1]:1"), ("10.0.0.5:1", "http://10.0.0.5:1"), ("unix:/x", nil),
    ])
    func `every listener except a unix socket has a URL on this machine`(text: String, url: String?) {
        #expect(SocketAddress(text)?.localURL == url)
    }

    @Test(
        arguments: [
            (true, [:], "\u{1b}[31mx\u{1b}[0m"), (false, [:], "x"), (true, ["NO_COLOR": "1"], "x"),
            (true, ["NO_COLOR": ""], "\u{1b}[31mx\u{1b}[0m"), (true, ["TERM": "dumb"], "x"),
        ] as [(Bool, [String: String], String)])
    func `text is coloured only on a terminal with colours, and not with NO_COLOR`(
        isTerminal: Bool, environment: [String: String], text: String
    ) {
        #expect(TerminalStyle(isTerminal: isTerminal, environment: environment).failure("x") == text)
    }
}
