import BalloonJSON
import TestSupport
import Testing

@testable import BusinessMessages

/// Messages that cost far more than their length before the parts of a message and its problems were bounded.
struct HostileMessageTests {
    private static func list(_ count: Int, _ element: (Int) -> String) -> String {
        "[" + (0..<count).map(element).joined(separator: ",") + "]"
    }

    private static func interactive(_ data: String) -> String {
        #"{"type":"interactive","interactiveData":{"bid":"\#(Interaction.businessExtension)","#
            + #""data":{"version":"1.0","requestIdentifier":"r",\#(data)},"receivedMessage":{"title":"t"}}}"#
    }

    private static func form(_ count: Int, _ members: (Int) -> String) -> String {
        let pages = list(count) {
            #"{"pageIdentifier":"p\#($0)","type":"input","title":"t","subtitle":"s"\#(members($0))}"#
        }
        return interactive(
            #""dynamic":{"version":"1.2","template":"messageForms","data":{"startPageIdentifier":"p0","#
                + #""pages":\#(pages)}}"#)
    }

    private static func unknown(_ count: Int) -> String {
        (0..<count).map { #","n\#($0)":1"# }.joined()
    }

    private func problems(_ message: String) -> [MessageProblem] {
        OutboundMessage.problems(inJSON: Array(message.utf8), now: 0)
    }

    /// A run of combining marks, which takes a `String` time proportional to its square to compare or hash.
    private static let marks = String(repeating: "\u{301}\u{323}", count: 60_000)

    private static let slashes = String(repeating: #"\/"#, count: 4000)

    struct Hostile: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let message: String
    }

    private static func picker(_ items: String, sections: Int = 1) -> String {
        #""listPicker":{"sections":\#(list(sections) { _ in #"{"title":"t","items":\#(items)}"# })}"#
    }

    static let hostile = [
        Hostile(
            testDescription: "20,000 unknown members",
            message: #"{"type":"text","body":"x"\#(unknown(20_000))}"#),
        Hostile(
            testDescription: "90 unknown members on each of 900 pages",
            message: form(900) { _ in unknown(90) }),
        Hostile(
            testDescription: "30,000 items without members",
            message: interactive(picker(list(1000) { _ in "{}" }, sections: 30))),
        Hostile(
            testDescription: "1,000 images and 20,000 items that name other images",
            message: interactive(
                #""images":\#(list(1000) { #"{"identifier":"\#($0)","data":""}"# }),"#
                    + picker(list(1000) { #"{"imageIdentifier":"x\#($0)"}"# }, sections: 20))),
        Hostile(
            testDescription: "a picture of 1 MB that 10,000 items name",
            message: interactive(
                #""images":[{"identifier":"a","data":"/9j\#(String(repeating: "/", count: 1_000_001))"}],"#
                    + picker(list(1000) { _ in #"{"imageIdentifier":"a"}"# }, sections: 10))),
        Hostile(
            testDescription: "a circle of 1,000 pages",
            message: form(1000) { #","nextPageIdentifier":"p\#(($0 + 1) % 1000)""# }),
        Hostile(
            testDescription: "1,000 pages that name pages which do not exist",
            message: form(1000) { #","nextPageIdentifier":"x\#($0)""# }),
        Hostile(
            testDescription:
                "990 pages with 8 KB of escapes in each name, which name pages that do not exist",
            message: form(990) {
                #","nextPageIdentifier":"x\#($0)""#
            }.replacing(#""pageIdentifier":""#, with: #""pageIdentifier":"\#(slashes)"#)),
        Hostile(
            testDescription: "5,000 brackets in an expression",
            message: form(1) { _ in #","options":{"regex":"\#(String(repeating: "[", count: 5000))"}"# }),
        Hostile(
            testDescription: "combining marks in every text",
            message: #"{"type":"t\#(marks)","body":"a\#(marks)","id":"a\#(marks)","locale":"e\#(marks)","#
                + #""sourceId":"u\#(marks)","destinationId":"t\#(marks)","n\#(marks)":1}"#),
        Hostile(
            testDescription: "combining marks in identifiers",
            message: form(2) {
                #","items":[{"identifier":"a\#(marks)"},{"identifier":"a\#(marks)\#($0)"}],"#
                    + #""nextPageIdentifier":"p\#(marks)","options":{"regex":"a\#(marks)","#
                    + #""inputType":"m\#(marks)","keyboardType":"d\#(marks)"}"#
            }),
        Hostile(
            testDescription: "combining marks in dates",
            message: form(1) { _ in "" }.replacing(
                #""type":"input""#,
                with: #""type":"datePicker","options":{"dateFormat":"y\#(marks)","startDate":"1\#(marks)"}"#)),
        Hostile(
            testDescription: "separators only",
            message: #"{"type":"text","body":"x","id":"\#(String(repeating: "-", count: 1_000_000))","#
                + #""locale":"en\#(String(repeating: "-a", count: 500_000))"}"#),
        Hostile(
            testDescription: "a megabyte of escapes in a name",
            message: #"{"type":"text","body":"x","\#(String(repeating: #"\u0041"#, count: 170_000))":1}"#),
    ]

    @Test(.timeLimit(.minutes(1)), arguments: hostile)
    func `a hostile message is judged in time, and its problems are short`(_ example: Hostile) {
        let found = problems(example.message)
        #expect(found.count <= 100)
        #expect(found.allSatisfy { $0.description.utf8.count < 2000 })
    }

    @Test(.timeLimit(.minutes(1)))
    func `a text of combining marks is decoded in time, also one that begins like a reaction`() throws {
        for body in ["Loved \(Self.marks)", "a\(Self.marks)", "Removed a heart\(Self.marks) from “a”"] {
            guard case .text(let text) = try event(json: #"{"type":"text","body":"\#(body)"}"#).content else {
                Issue.record("not a text")
                continue
            }
            #expect(text.tapback == nil)
        }
    }

    @Test(.timeLimit(.minutes(1))) func `the query of an app is read in time`() throws {
        let url = "?\(Self.marks)\(Self.marks)&a=\(Self.marks)\(Self.marks)"
        guard
            case .app(let app) = try event(
                json:
                    #"{"type":"interactive","interactiveData":{"bid":"x:ABCDEFGHIJ:com.x.y","URL":"\#(url)","appId":"1"}}"#
            ).content
        else {
            Issue.record("not an app")
            return
        }
        #expect(app.queryItems.map(\.name.utf8.count) == [Self.marks.utf8.count * 2, 1])
    }

    @Test(.timeLimit(.minutes(1))) func `members with long names are merged in time`() throws {
        let (name, item) = (Self.marks + Self.marks, #"{"identifier":"\#(Self.marks)"}"#)
        let message = try json(
            #"{"type":"interactive","interactiveData":{"n\#(name)":1,"data":{"n\#(name)":2,"images":[\#(item)]}}}"#
        )
        let payload = try json(#"{"interactiveData":{"n\#(name)":3,"data":{"images":[\#(item)]}}}"#)
        let merged = try #require(resolving(message: message, with: payload))
        let data = try JSONDocument(merged).root["interactiveData"]
        #expect(data?["n\(name)"]?.int == 1 && data?["data"]?["n\(name)"]?.int == 2)
        #expect(data?["data"]?["images"]?.count == 1)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a member whose name is a run of combining marks is redacted and replaced in time`() throws {
        let message = try json(
            Self.interactive(
                #""authenticate":{"n\#(Self.marks)":1,"oauth2":{"state":"a","s\#(Self.marks)":"b"}}"#))
        let redacted = try #require(OutboundMessage.redacted(message.root))
        let kept = try JSONDocument(redacted).root["interactiveData"]?["data"]?["authenticate"]
        #expect(kept?["oauth2"]?["state"]?.string == InboundEvent.redactedText)
        #expect(kept?["oauth2"]?["s\(Self.marks)"]?.string == "b")
        #expect(OutboundMessage.holdsRedactedText(try JSONDocument(redacted).root))
        let data = try #require(message.root["interactiveData"]?["data"]?["authenticate"])
        #expect(data.replacing(members: ["oauth2": [0x32]]).suffix(11) == Array(#""oauth2":2}"#.utf8)[...])
    }

    @Test func `a hundred warnings hide no error, and errors are listed first`() throws {
        let found = problems(#"{"type":"text","body":7\#(Self.unknown(150)),"v":2}"#)
        #expect(found.count == 100)
        #expect(found.hasErrors)
        #expect(found.prefix(3).map(\.pointer) == ["/body", "/v", "/n0"])
        #expect(found.dropFirst(2).map(\.pointer) == (0..<98).map { "/n\($0)" })
    }

    @Test func `the first hundred errors of the text are listed, in the order of the text`() {
        let items = Self.list(400) { _ in #"{"identifier":"","title":""}"# }
        let found = problems(Self.interactive(Self.picker(items)))
        let place = "/interactiveData/data/listPicker/sections/0/items"
        #expect(
            found.map(\.pointer)
                == (0..<50).flatMap { ["\(place)/\($0)/identifier", "\(place)/\($0)/title"] })
        #expect(
            found.map { [$0.line, $0.column] } == found.map { [$0.line, $0.column] }.sorted { $0[1] < $1[1] })
    }

    struct Limit: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let maximum: Int
        let pointer: String
        let found: String
        let message: @Sendable (Int) -> String
    }

    static let limits = [
        Limit(
            testDescription: "elements of a list", maximum: 1000,
            pointer: "/interactiveData/data/listPicker/sections/0/items",
            found: "a list of 1001 elements, not fully checked"
        ) { interactive(picker(list($0) { #"{"identifier":"\#($0)","title":"t"}"# })) },
        Limit(
            testDescription: "members of an object", maximum: 10_000, pointer: "",
            found: "an object of 10001 members, not fully checked"
        ) { #"{"type":"text","body":"x"\#(unknown($0 - 2))}"# },
        Limit(
            testDescription: "attachments", maximum: 100, pointer: "/attachments",
            found: "101 attachments, not fully checked"
        ) { #"{"type":"text","body":"x","attachments":\#(list($0) { _ in "{}" })}"# },
        Limit(
            testDescription: "values", maximum: 100_000, pointer: "",
            found: "more than 100000 values, not fully checked"
        ) { count in
            // The root, two texts, the list of lists, 99 lists of 1,000 values, and the rest.
            let rest = count - 4 - 99 - 99_000
            return #"{"type":"text","body":"x","a":[\#(list(rest - 1) { _ in "1" }),"#
                + list(99) { _ in list(1000) { _ in "1" } }.dropFirst() + "}"
        },
        Limit(
            testDescription: "levels", maximum: 128, pointer: "",
            found: "nested deeper than 128 levels, not fully checked"
        ) {
            #"{"type":"text","body":"x","a":"#
                + String(repeating: "[", count: $0 - 1) + String(repeating: "]", count: $0 - 1) + "}"
        },
    ]

    @Test(arguments: limits)
    func `a message at a limit is checked, and one beyond it is refused unchecked`(_ limit: Limit) {
        let sound = problems(limit.message(limit.maximum))
        #expect(!sound.contains { $0.rule == .fullyChecked }, "\(sound.prefix(1))")
        let beyond = problems(limit.message(limit.maximum + 1))
        #expect(beyond.map(\.rule) == [.fullyChecked])
        #expect(beyond.first?.pointer == limit.pointer)
        #expect(beyond.first?.found == limit.found)
        #expect(beyond.hasErrors)
    }

    @Test func `a parsed message with too many values is refused unchecked`() throws {
        let message = try json(Self.limits[3].message(100_001))
        #expect(OutboundMessage.problems(in: message.root).map(\.rule) == [.fullyChecked])
        #expect(throws: InvalidMessage.self) { try OutboundMessage(json: message) }
    }

    @Test func `a check that exceeds its steps ends, and the message is refused`() throws {
        let message = try json(Self.form(50) { _ in #","unknown":1"# })
        func problems(_ steps: Int) -> [MessageProblem] {
            var inspection = Inspection(maximumSteps: steps)
            inspection.check(message.root, Checks.message(needsEnvelope: false))
            return inspection.problems
        }
        let whole = problems(Inspection.maximumSteps)
        #expect(!whole.hasErrors && whole.count > 50)
        let cut = problems(100)
        #expect(cut.first?.rule == .fullyChecked && cut.hasErrors)
        #expect(cut.count < whole.count)
    }

    @Test func `a suggestion names at most ten pages or images`() throws {
        let pages = problems(Self.form(30) { $0 == 0 ? #","nextPageIdentifier":"x""# : "" })
        let next = try #require(pages.first { $0.rule == .nextPage })
        #expect(next.allowed == (0..<10).map { "p\($0)" }.joined(separator: " ") + " and 20 more")
        let images = problems(
            Self.interactive(
                #""images":\#(Self.list(12) { #"{"identifier":"i\#($0)","data":"AAAA"}"# }),"#
                    + Self.picker(#"[{"identifier":"a","title":"b","imageIdentifier":"x"}]"#)))
        let image = try #require(images.first { $0.rule == .imageReference })
        #expect(image.allowed == (0..<10).map { "i\($0)" }.joined(separator: " ") + " and 2 more")
    }

    @Test(
        arguments: [
            ([1, 2, 3, nil], [], nil), ([1, 2, 0], [], ["p0", "p1", "p2"]),
            ([1, 2, 3, 2], [], ["p2", "p3"]),
            ([0], [], ["p0"]), ([1, 3, 3, nil], [(0, 2)], nil),
            ([1, 2, nil, 2], [(0, 3), (2, 0)], ["p0", "p1", "p2"]),
        ] as [([Int?], [(Int, Int)], [String]?)])
    func `the pages of one circle are named, and a way that only meets again is none`(
        nexts: [Int?], branches: [(Int, Int)], circle: [String]?
    ) {
        let message = Self.form(nexts.count) { page in
            let items = branches.filter { $0.0 == page }.map {
                #"{"identifier":"i","title":"t","value":"v","nextPageIdentifier":"p\#($0.1)"}"#
            }
            return (nexts[page].map { #","nextPageIdentifier":"p\#($0)""# } ?? "")
                + (items.isEmpty ? "" : #","items":[\#(items.joined(separator: ","))]"#)
        }
        let found = problems(message).filter { $0.rule == .pageCycle }
        #expect(found.map(\.found) == (circle.map { [$0.joined(separator: " ")] } ?? []))
    }

    @Test func `each attachment's size becomes a text, and the rest of the message stays the same`() throws {
        let message = try json(#"{"attachments":[{"size":1},{"size":"2"},{"a":[],"size":300}],"b":4}"#)
        #expect(
            text(OutboundMessage.quotingSizes(in: message).bytes)
                == #"{"attachments":[{"size":"1"},{"size":"2"},{"a":[],"size":"300"}],"b":4}"#)
    }
}
