import BalloonJSON
import Testing

@testable import BusinessMessages

struct MessageBoundsTests {
    /// One limit: `message` creates a message with that many parts, and `excess` is the text for one part too many.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let maximum: Int
        let kind: Kind
        let excess: String
        let message: @Sendable (Int) -> String
    }

    private static func list(_ element: String, _ count: Int) -> String {
        "[" + repeatElement(element, count: count).joined(separator: ",") + "]"
    }

    private static func interactive(_ data: String) -> String {
        #"{"type":"interactive","interactiveData":{"data":{\#(data)}}}"#
    }

    static let cases = [
        Case(
            testDescription: "attachments", maximum: 100, kind: .text,
            excess: "101 attachments; at most 100 are read"
        ) { #"{"type":"text","body":"b","attachments":\#(list("{}", $0))}"# },
        Case(
            testDescription: "items of a list picker's section", maximum: 1000, kind: .listPicker,
            excess: "a list of 1001 elements; at most 1000 are read"
        ) { interactive(#""listPicker":{"sections":[{"items":\#(list("{}", $0))}]}"#) },
        Case(
            testDescription: "items of a quick reply", maximum: 1000, kind: .quickReply,
            excess: "a list of 1001 elements; at most 1000 are read"
        ) { interactive(#""quick-reply":{"items":\#(list("{}", $0))}"#) },
        Case(
            testDescription: "images", maximum: 1000, kind: .quickReply,
            excess: "a list of 1001 elements; at most 1000 are read"
        ) { interactive(#""quick-reply":{},"images":\#(list("{}", $0))"#) },
        Case(
            testDescription: "references of a close", maximum: 1000, kind: .close,
            excess: "a list of 1001 elements; at most 1000 are read"
        ) { #"{"type":"close","referenceIds":\#(list(#""r""#, $0))}"# },
        Case(
            testDescription: "elements of a list that is nested and unknown", maximum: 1000, kind: .text,
            excess: "a list of 1001 elements; at most 1000 are read"
        ) { #"{"type":"text","x":[[{"y":\#(list("0", $0))}]]}"# },
        Case(
            testDescription: "members of an object", maximum: 10_000, kind: .text,
            excess: "an object of 10001 members; at most 10000 are read"
        ) { count in
            #"{"type":"text","x":{"# + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",") + "}}"
        },
        Case(
            testDescription: "selections of a form in all", maximum: 10_000, kind: .form,
            excess: "10001 selections; at most 10000 are read"
        ) { count in
            // The count includes the pages: ten pages, and the other parts as their items.
            let page = #"{"items":\#(list("{}", (count - 10) / 10))}"#
            let last = #"{"items":\#(list("{}", (count - 10) / 10 + (count - 10) % 10))}"#
            let pages = Array(repeating: page, count: 9) + [last]
            return interactive(#""dynamic":{"selections":[\#(pages.joined(separator: ","))]}"#)
        },
        Case(
            testDescription: "items of a list picker in all", maximum: 10_000, kind: .listPicker,
            excess: "10001 selections; at most 10000 are read"
        ) { count in
            let section = #"{"listPickerItem":\#(list("{}", (count - 10) / 10))}"#
            let last = #"{"listPickerItem":\#(list("{}", (count - 10) / 10 + (count - 10) % 10))}"#
            let sections = Array(repeating: section, count: 9) + [last]
            return interactive(#""listPicker":[\#(sections.joined(separator: ","))]"#)
        },
        Case(
            testDescription: "parts of a URL's query", maximum: 1000, kind: .app,
            excess: "a URL's query of 1001 parts; at most 1000 are read"
        ) { count in
            let query = (0..<count).map { "a\($0)=b" }.joined(separator: "&")
            return #"{"type":"interactive","interactiveData":{"bid":"com.example","URL":"?\#(query)"}}"#
        },
    ]

    @Test(arguments: cases)
    func `a message at a limit is decoded, and one above it is unrecognized with the reason`(_ bound: Case)
        throws
    {
        let within = try event(json: bound.message(bound.maximum))
        #expect(within.kind == bound.kind)
        let above = try json(bound.message(bound.maximum + 1))
        let event = InboundEvent.decode(message: above)
        guard case .unrecognized(let unrecognized) = event.content else { throw Unexpected(event.kind) }
        #expect(unrecognized.excess == bound.excess)
        #expect(unrecognized.markers.isEmpty)
        #expect(unrecognized.type == above.root["type"]?.string)
        #expect(event.message.text == above.root.text)
        #expect(event.summary.contains(bound.excess))
    }

    @Test func `an unrecognized message within all limits reports no exceeded limit`() throws {
        guard case .unrecognized(let unrecognized) = try event(json: #"{"type":"new"}"#).content else {
            Issue.record("it is recognized")
            return
        }
        #expect(unrecognized.excess == nil)
    }

    @Test func `decoding searches for no more attachment markers than there are attachments`() throws {
        let marks = String(repeating: "\u{FFFC}", count: 5000)
        let event = try event(json: #"{"type":"text","body":"\#(marks)","attachments":[{},{}]}"#)
        guard case .text(let text) = event.content else { throw Unexpected(event.kind) }
        #expect(text.attachments.map(\.place) == [0, 1])
    }

    @Test(
        arguments: [
            (#""authenticate":{"status":"authenticated","token":"SECRET"}"#, true),
            (#""payment":{"state":"paid","token":"SECRET"}"#, true),
            (#""applePay":{},"token":"SECRET""#, true),
            (#""dynamic":{"private":true,"selections":[{"title":"SECRET"}]}"#, true),
            (#""dynamic":{"selections":[{"title":"SECRET"}]}"#, false),
            (#""other":{"token":"SECRET"}"#, false),
        ] as [(String, Bool)])
    func `the secrets of a message with too many parts are redacted too`(
        _ data: String, isSecret: Bool
    )
        throws
    {
        let images = "[" + repeatElement("{}", count: 1001).joined(separator: ",") + "]"
        let event = try event(
            json: #"{"type":"interactive","interactiveData":{"data":{\#(data),"images":\#(images)}}}"#)
        #expect(event.kind == .unrecognized)
        let kept = event.redactedMessage.map { text($0) }
        #expect((kept != nil) == isSecret)
        if let kept { #expect(!kept.contains("SECRET") && kept.contains("[not kept]")) }
    }
}
