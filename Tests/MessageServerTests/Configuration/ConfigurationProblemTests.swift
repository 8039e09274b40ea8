import BalloonJSON
import BalloonPOSIX
import BalloonWire
import Glibc
import HandlerKit
import Logging
import MessageServer
import TestSupport
import Testing

@Suite struct ConfigurationProblemTests {
    private static let businesses: [(String, String)] = [
        (#""fallback":{}"#, "/fallback: does not name exactly one answer"),
        (
            #""fallback":{"text":"a","handler":{"builtin":"none"}}"#,
            "/fallback: does not name exactly one answer"
        ),
        (#""fallback":{"text":""}"#, "/fallback/text: is empty"),
        (#""fallback":{"text":"a","afterSeconds":-1}"#, "/fallback/afterSeconds: is not a whole number"),
        (#""fallback":{"handler":{}}"#, "/fallback/handler: names no handler"),
        (#""people":{}"#, #"/people: has no "text""#),
        (#""people":{"text":1}"#, "/people/text: is not a string"),
        (#""people":{"text":" "}"#, "/people/text: is empty"),
        (#""people":{"text":"\#(String(repeating: "x", count: 2001))"}"#, "/people/text: is empty or longer"),
        (#""people":{"text":"a","unclaimedText":""}"#, "/people/unclaimedText: is empty"),
        (
            #""people":{"text":"a","link":"https://crm.example.com"}"#,
            "/people/link: is no address with {conversation}"
        ),
        (
            #""people":{"text":"a","link":"ftp://a/{conversation}"}"#,
            "/people/link: is no address with {conversation}"
        ),
        (
            #""people":{"text":"a","hours":{"zone":"UTC","week":{}}}"#,
            #"/people: has "hours" without "closedText""#
        ),
        (
            #""people":{"text":"a","queues":[{"id":"a","hours":{"zone":"UTC","week":{}}}]}"#,
            #"/people: has "hours" without "closedText""#
        ),
        (#""people":{"text":"a"},"texts":{"closed":{"de":"Zu."}}"#, "/texts/closed: is not a known key"),
        (#""people":{"text":"a","words":[]}"#, "/people/words: is not a list"),
        (#""people":{"text":"a","words":["agent"," "]}"#, "/people/words/1: is blank"),
        (
            #""people":{"text":"a","words":["\#(String(repeating: "x", count: 101))"]}"#,
            "/people/words/0: is blank or longer than 100 bytes"
        ),
        (
            #""people":{"text":"a","words":["a"\#(String(repeating: #","a""#, count: 50))]}"#,
            "/people/words/50: is one word too many"
        ),
        (#""people":{"text":"a","silentMinutes":0}"#, "/people/silentMinutes: is not a whole number"),
        (#""people":{"text":"a","returnMinutes":10081}"#, "/people/returnMinutes: is not a whole number"),
        (
            #""people":{"text":"a","unclaimedText":"b","unclaimedMinutes":60,"returnMinutes":60}"#,
            #"/people: sends "unclaimedText" after "returnMinutes""#
        ),
        (#""people":{"text":"a","word":["help"]}"#, "/people/word: is not a known key (did you mean words?"),
        (#""people":{"text":"a","words":{"german":["help"]}}"#, "/people/words/german: is not a known key"),
        (#""people":{"text":"a","phrases":{"de":[" "]}}"#, "/people/phrases/de/0: is blank"),
        (#""people":{"text":"a","menu":{"type":"text","body":"hi"}}"#, "has a \"menu\" that"),
        (#""texts":{"wait":{"de":"b"}}"#, "/texts/wait: is not a known key"),
        (#""texts":{"disclosure":{"de":"b"}}"#, "/texts/disclosure: is not a known key"),
        (#""disclosure":" ""#, "/disclosure: is empty"),
        (#""firstAnswer":{"afterSeconds":4}"#, "/firstAnswer: has no \"text\""),
        (#""firstAnswer":{"text":"a","afterSeconds":31}"#, "/firstAnswer/afterSeconds: is not"),
        (#""terms":{"url":"https://a.example/"}"#, "/terms: has no \"title\""),
        (#""terms":{"url":"a.example","title":"a"}"#, "/terms: is no link that Apple accepts: webAddress"),
        (
            #""terms":{"url":"https://a.example/","title":"a","image":"a.svg"}"#,
            "/terms/image: is no PNG or JPEG"
        ),
        (#""replies":{"typing":{"seconds":11}}"#, "/replies/typing/seconds: is not"),
        (#""newAfterHours":0"#, "/newAfterHours: is not"),
        (#""notices":{"text":"a"}"#, "/notices: has no \"withdrawnText\""),
        (#""notices":{"text":"a","withdrawnText":""}"#, "/notices/withdrawnText: is empty"),
        (#""people":{"text":"a","savedReplies":[{"id":"a","title":"b"}]}"#, "is no saved reply with either"),
        (#""people":{"text":"a"},"texts":{"wait":{"de":""}}"#, "/texts/wait/de: is empty"),
        (#""people":{"text":"a"},"texts":{"unclaimed":{"de":"b"}}"#, "/texts/unclaimed: is not a known key"),
        (#""logLevel":"loud""#, "/logLevel: is not a log level"),
        (#""concurrency":0"#, "/concurrency: is not"),
        (#""deadlineSeconds":301"#, "/deadlineSeconds: is not"),
    ]

    @Test(arguments: businesses)
    func `a problem of a business is reported with its place`(_ member: String, _ problem: String) throws {
        let file = #"{"businessID":"b","name":"B","handler":{"builtin":"none"},\#(member)}"#
        let problems = try ConfigurationFiles(businesses: ["b": file]).problems()
        #expect(problems.count == 1)
        #expect(problems.first?.contains(problem) ?? false, "\(problems)")
    }

    @Test func `the settings of people are read`() throws {
        let file = #"""
            {"businessID":"b","name":"B","handler":{"builtin":"none"},"people":{"words":["Hilfe"],"text":"Soon.",
             "phrases":{"de_AT":["ein Mensch"]},
             "unclaimedText":"Noch etwas.","unclaimedMinutes":1,"silentMinutes":2,"returnMinutes":10080},
             "texts":{"wait":{"de":"Gleich."}}}
            """#
        let business = try #require(try ConfigurationFiles(businesses: ["b": file]).load().businesses.first)
        var people = PeopleConfiguration(text: "Soon.")
        people.texts[.wait]?.languages = ["de": "Gleich."]
        people.words = CustomerWords(
            words: Localized(["hilfe"]), phrases: Localized([], ["de-at": ["ein mensch"]]))
        people.texts[.unclaimed] = Localized("Noch etwas.")
        people.unclaimedTime = .seconds(60)
        people.silentTime = .seconds(120)
        people.returnTime = .seconds(7 * 86400)
        #expect(business.people == people)
    }

    @Test func `a business with a handler and without people is a warning`() throws {
        let silent = #"{"businessID":"b-2","name":"Silent","handler":{"builtin":"none"}}"#
        let files = try ConfigurationFiles(businesses: ["demo": ConfigurationFiles.demo, "silent": silent])
        let warnings = try files.load().businesses.warningsAboutPeople
        #expect(warnings.map(\.place) == [.file(files.directory.file("businesses/demo.json"))])
    }

    @Test func `disclosure, terms, first answer and typing are read`() throws {
        let file = #"""
            {"businessID":"b","name":"B","handler":{"builtin":"none"},"disclosure":"A robot writes.",
             "firstAnswer":{"text":"One moment."},"terms":{"url":"https://a.example/terms","title":"Terms"},
             "texts":{"disclosure":{"de":"Ein Automat."},"firstAnswer":{"de":"Moment."}},
             "replies":{"typing":{"maximumSeconds":2}},"newAfterHours":2}
            """#
        let business = try #require(try ConfigurationFiles(businesses: ["b": file]).load().businesses.first)
        #expect(business.opening.disclosure == Localized("A robot writes.", ["de": "Ein Automat."]))
        #expect(business.opening.firstAnswer?.text == Localized("One moment.", ["de": "Moment."]))
        #expect(business.opening.firstAnswer?.after == .seconds(4))
        #expect(business.opening.terms == RichLink("https://a.example/terms", title: "Terms", image: nil))
        #expect(business.replies.typing?.longest == .seconds(2))
        #expect(business.silence == .seconds(7200))
        #expect(business.languages == ["de"])
    }

    @Test func `a business with a handler and without an opening is advised`() throws {
        let silent = #"{"businessID":"b-2","name":"Silent","handler":{"builtin":"none"}}"#
        let files = try ConfigurationFiles(businesses: ["demo": ConfigurationFiles.demo, "silent": silent])
        let advice = try files.load().businesses.adviceForReview
        #expect(advice.map(\.place) == [.file(files.directory.file("businesses/demo.json"))])
        #expect(
            advice.first?.reason.contains("\"firstAnswer\", \"replies.typing\", \"replies.links\"") == true)
    }

    @Test(arguments: [
        (#"["Help","Hilfe"]"#, ["\"people.hours\"", "\"agent\", \"support\""]),
        (#"{"de":["Hilfe"]}"#, ["\"people.hours\""]), (#"["agent","help","support"]"#, ["\"people.hours\""]),
    ])
    func `people without hours, and words that replace those of Apple, are advised`(
        _ words: String, _ expected: [String]
    ) throws {
        let file =
            #"{"businessID":"b","name":"B","handler":{"builtin":"demo"},"disclosure":"A bot.","#
            + #""firstAnswer":{"text":"Wait."},"replies":{"typing":{},"links":"convert"},"#
            + #""people":{"text":"Soon.","words":\#(words)}}"#
        let advice = try ConfigurationFiles(businesses: ["b": file]).load().businesses.adviceForReview
        #expect(advice.count == expected.count)
        for (advice, part) in zip(advice, expected) { #expect(advice.reason.contains(part + ","), "\(part)") }
    }

    @Test func `a business has a fallback and a log level`() throws {
        let file = #"""
            {"businessID":"b","name":"B","handler":{"builtin":"none"},"fallback":{"text":"Soon."},"logLevel":"debug"}
            """#
        let business = try #require(try ConfigurationFiles(businesses: ["b": file]).load().businesses.first)
        #expect(business.logLevel == .debug)
        #expect(business.fallback?.after == .seconds(120))
        guard case .text("Soon.") = business.fallback?.answer else {
            Issue.record("no text")
            return
        }
    }

    @Test(arguments: [
        (#"{"mspID":"m"}"#, #"server.json: has no "secret""#),
        (#"{"secret":{"env":"S"}}"#, #"server.json: has no "mspID""#),
        ("[]", "server.json:1:1: is not an object"),
        ("{\n  \"mspID\": tru }", "server.json:2:15: is not JSON: unexpected character"),
        (#"{"mspID":1,"secret":{"env":"S"}}"#, "server.json:1:10: /mspID: is not a string"),
        (#"{"mspID":"","secret":{"env":"S"}}"#, "server.json:1:10: /mspID: is not an identifier"),
        (#"{"mspID":"m","secret":"literal"}"#, "server.json:1:23: /secret: is not an object"),
        (#"{"mspID":"m","secret":{}}"#, "server.json:1:23: /secret: does not name exactly one source"),
        (
            #"{"mspID":"m","secret":{"env":"S","file":"s"}}"#,
            "server.json:1:23: /secret: does not name exactly one source"
        ),
        (
            #"{"mspID":"m","secret":{"env":"T"}}"#,
            "server.json:1:30: /secret/env: names an environment variable that is not set"
        ),
        (
            #"{"mspID":"m","secret":{"file":"absent"}}"#,
            "server.json:1:31: /secret/file: names a file that cannot be read: open: No such file or directory (2)"
        ),
        (
            #"{"mspID":"m","secret":{"file":"short"}}"#,
            "server.json:1:31: /secret/file: is not the Base64 of at least 16 bytes"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"Listen":""}"#,
            "server.json:1:44: /Listen: is not a known key (did you mean listen?"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"inspectorAt":"127.0.0.1:9090"}"#,
            "server.json:1:49: /inspectorAt: is not a known key"
        ),
        (
            #"{"mspID":"m","mspID":"m","secret":{"env":"S"}}"#, "server.json:1:22: /mspID: is given twice"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"listen":"example.com:80"}"#,
            "server.json:1:44: /listen: is not an address to listen on"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"dataDirectory":""}"#,
            "server.json:1:51: /dataDirectory: is not a path"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"publicURL":"https://user@example.com"}"#,
            "server.json:1:47: /publicURL: is not a web address"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"gateway":{"url":"http://example.com"}}"#,
            "server.json:1:52: /gateway/url: is plain http to another machine"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"gateway":{"downloadHosts":"apple.com"}}"#,
            "server.json:1:62: /gateway/downloadHosts: is not a list of strings"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"gateway":{"downloadHosts":["apple.com",".com"]}}"#,
            "server.json:1:75: /gateway/downloadHosts/1: is not a host suffix"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"gateway":{"agent":"Käse"}}"#,
            "server.json:1:54: /gateway/agent: is not 1 to 64 printable ASCII characters"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"limits":{"shards":257}}"#,
            "server.json:1:54: /limits/shards: is not a whole number in its range (write a number from 0 to 256)"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"limits":{"tokenAgeSeconds":1.5}}"#,
            "server.json:1:63: /limits/tokenAgeSeconds: is not a whole number in its range"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"tls":{"certificateFile":"short"}}"#,
            #"server.json:1:41: /tls: has no "keyFile""#
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"tls":{"certificateFile":"short","keyFile":"absent"}}"#,
            "server.json:1:78: /tls/keyFile: names a file that cannot be read: open: No such file"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"tls":{"certificateFile":"short","keyFile":"short"}}"#,
            "server.json:1:60: /tls/certificateFile: is not a certificate for the configured key: no start line"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"http":{"idleSeconds":0}}"#,
            "server.json:1:57: /http/idleSeconds: is not a whole number in its range (write a number from 1 to 3600)"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"http":{"maximumHeaderBytes":8192}}"#,
            "server.json:1:42: /http: allows one field line to exceed the limit of all field lines"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"http":{"maximumBufferedBytes":1000000}}"#,
            "server.json:1:1: allows all requests together less memory than the body of one message"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"http":{"maximumBufferedBytesPerPeer":1000000}}"#,
            "server.json:1:1: allows one peer less memory than the body of one message"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"shutdownSeconds":0}"#,
            "server.json:1:53: /shutdownSeconds: is not a whole number in its range (write a number from 1 to 3600)"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"http":{"idelSeconds":1}}"#,
            "server.json:1:57: /http/idelSeconds: is not a known key (did you mean idleSeconds?"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"api":{"tokens":[{"name":"a","may":["read"]}]}}"#,
            #"server.json:1:52: /api/tokens/0: has no "sha256""#
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"api":{"tokens":[{"name":"a","sha256":"bln_x","may":["read"]}]}}"#,
            "server.json:1:73: /api/tokens/0/sha256: is a token and not its hash (remove it"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"api":{"origins":["https://a.example/"]}}"#,
            "server.json:1:53: /api/origins/0: is not the origin of a web page"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"api":{"hosts":["a/b"]}}"#,
            "server.json:1:51: /api/hosts/0: is not a host"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"api":{"inbox":"yes"}}"#,
            "server.json:1:50: /api/inbox: is neither true nor false (write true or false"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"api":{"requestsPerMinute":0}}"#,
            "server.json:1:62: /api/requestsPerMinute: is not a whole number in its range"
        ),
        (
            #"{"mspID":"m","secret":{"env":"S"},"api":{"tokens":[{"name":"a","sha256":"00","may":["read"]}]}}"#,
            "server.json:1:73: /api/tokens/0/sha256: is not a SHA-256"
        ),
        (#"{"mspID":"m","secret":{"env":"S"},"limits":[]}"#, "server.json:1:44: /limits: is not an object"),
    ])
    func `an error in the server's file is the only problem`(server: String, problem: String) throws {
        let files = try ConfigurationFiles(server: server)
        try files.write("c2hvcnQ=", to: "short")
        let problems = files.problems(["S": ConfigurationFiles.secret])
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(problem) == true, "\(problems)")
    }

    @Test(arguments: [
        ("Demo", ConfigurationFiles.demo, "businesses/Demo.json: has a name that is not a slug"),
        ("a", "{}", #"businesses/a.json:1:1: has no "businessID""#),
        (
            "a", #"{"businessID":"urn:biz:1","name":"A","handler":{"builtin":"none"}}"#,
            "businesses/a.json:1:15: /businessID: begins with urn:biz:"
        ),
        (
            "a", #"{"businessID":"1","name":"","handler":{"builtin":"none"}}"#,
            "businesses/a.json:1:26: /name: is empty or longer than 200 bytes"
        ),
        (
            "a", #"{"businessID":"1","name":"A","handler":{}}"#,
            "businesses/a.json:1:40: /handler: names no handler"
        ),
        (
            "a", #"{"businessID":"1","name":"A","handler":{"builtin":"other"}}"#,
            "businesses/a.json:1:51: /handler/builtin: is not a handler of this program (use one of: picky, none)"
        ),
        (
            "a", #"{"businessID":"1","name":"A","handler":{"builtin":"picky","config":{"a":1}}}"#,
            "businesses/a.json:1:40: /handler: is refused by the handler: takes nothing"
        ),
        (
            "a", #"{"businessID":"1","name":"A","handler":{"builtin":"picky","config":[]}}"#,
            "businesses/a.json:1:68: /handler/config: is not an object"
        ),
        (
            "a", #"{"businessID":"1","name":"A","handler":{"builtin":"picky","exec":"x"}}"#,
            "businesses/a.json:1:40: /handler: names more than one handler"
        ),
    ])
    func `an error in a business's file is the first problem`(
        slug: String, business: String, problem: String
    ) throws {
        let files = try ConfigurationFiles(businesses: [slug: business])
        let problems = files.problems(handlers: [PickyFactory()])
        #expect(problems.first?.hasPrefix(problem) == true, "\(problems)")
    }

    @Test func `a missing file is reported together with other problems`() throws {
        let files = try ConfigurationFiles(businesses: [:])
        try Directory.remove(files.directory.file("server.json"))
        #expect(
            files.problems() == [
                "server.json: cannot be read: open: No such file or directory (2) (check its path and mode)",
                "businesses: contains no business file (create a file SLUG.json for each business in it)",
            ])
    }

    @Test func `a file that is no regular file is reported without opening it`() throws {
        let files = try ConfigurationFiles(businesses: ["a": ConfigurationFiles.demo])
        let path = files.directory.file("businesses/b.json")
        try #require(mkfifo(path, 0o600) == 0)
        // With a writer, an open call that waits for one fails the test instead of hanging it.
        let writer = open(path, O_RDWR)
        defer { close(writer) }
        #expect(
            files.problems().contains {
                $0.contains("businesses/b.json: cannot be read: open (not a regular file)")
            })
    }

    @Test func `two businesses with one identifier are refused`() throws {
        let files = try ConfigurationFiles(businesses: [
            "a": ConfigurationFiles.demo, "b": ConfigurationFiles.demo,
        ])
        #expect(
            files.problems() == [
                "businesses/b.json:1:15: /businessID: is also the identifier in a.json (use a different identifier for each business)"
            ])
    }

    @Test(arguments: [
        (["BALLOON_LISTEN": "x"], "BALLOON_LISTEN: is not an address to listen on"),
        (["BALLOON_ADMIN_LISTEN": "x"], "BALLOON_ADMIN_LISTEN: is neither off nor an address to listen on"),
        (["BALLOON_MSP_ID": ""], "BALLOON_MSP_ID: is not an identifier"),
        (["BALLOON_MSPID": "m"], "BALLOON_MSPID: is not a known variable (did you mean BALLOON_MSP_ID?)"),
        (["BALLOON_ZZZZZZZZZZZZ": "m"], "BALLOON_ZZZZZZZZZZZZ: is not a known variable (unset it)"),
        (
            ["BALLOON_MSP_ID": "m", "BALLOON_MSP_ID_FILE": "m"],
            "BALLOON_MSP_ID: is set together with BALLOON_MSP_ID_FILE"
        ),
        (
            ["BALLOON_MSP_ID_FILE": "/absent"],
            "BALLOON_MSP_ID_FILE: names a file that cannot be read: open: No such file or directory (2)"
        ),
        (["BALLOON_GATEWAY_URL": "ftp://x"], "BALLOON_GATEWAY_URL: is not a web address"),
    ])
    func `an error in the environment is the only problem`(
        environment: [String: String], problem: String
    ) throws {
        let secret = ["BALLOON_SECRET": ConfigurationFiles.secret]
        let problems = try ConfigurationFiles().problems(secret.merging(environment) { $1 })
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(problem) == true, "\(problems)")
    }

    @Test func `a value in the file is checked even when the environment overrides it`() throws {
        let files = try ConfigurationFiles(server: #"{"mspID":1,"secret":{"env":"S"},"listen":"x"}"#)
        let problems = files.problems([
            "BALLOON_MSP_ID": "m", "BALLOON_SECRET": ConfigurationFiles.secret,
            "BALLOON_LISTEN": "127.0.0.1:1",
        ])
        #expect(
            problems.map { String($0.prefix(28)) } == [
                "server.json:1:10: /mspID: is", "server.json:1:42: /listen: i",
            ])
    }

    @Test func `all problems are reported at once and without secrets`() throws {
        let secret = "c2hvcnQ-not-base64"
        let files = try ConfigurationFiles(
            server: #"{"secret":"\#(secret)","listen":"\#(secret)","limits":{"shards":"\#(secret)"},"x":1}"#,
            businesses: ["a": "{", "b": #"{"businessID":"\#(secret) ","name":1}"#])
        let problems = files.problems(["BALLOON_SECRET": secret, "BALLOON_TYPO": secret])
        #expect(problems.count == 11, "\(problems.joined(separator: "\n"))")
        #expect(!problems.joined().contains(secret))
    }
}

/// Accepts no configuration.
private struct PickyFactory: HandlerFactory {
    struct Refusal: Error, CustomStringConvertible { let description = "takes nothing" }
    struct Silent: Handler {}

    let name = "picky"

    func make(configuration: JSONValue?) throws -> any Handler {
        guard configuration == nil else { throw Refusal() }
        return Silent()
    }
}
