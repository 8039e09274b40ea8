import BusinessMessages
import Testing

struct OutboundMessageTests {
    private let id = MessageID("9f1c")
    private let items = [
        QuickReplyRequest.Item("yes", title: "Yes"), QuickReplyRequest.Item("no", title: "No"),
    ]

    private func encoded(_ message: OutboundMessage) -> String {
        text(message.encode(id: id, from: BusinessID("b-1"), to: CustomerID("urn:mbid:AQ+/=")))
    }

    @Test func `a text is encoded in Apple's format`() {
        #expect(
            encoded(.text("Grüße \"you\"\n\u{1}/😀"))
                == #"{"id":"9f1c","v":1,"type":"text","sourceId":"b-1","destinationId":"urn:mbid:AQ+/=","#
                + #""body":"Grüße \"you\"\n\u0001/😀"}"#)
        #expect(OutboundMessage.text("a").kind == .text)
    }

    @Test func `a typing message is encoded without content`() {
        let parties = #""sourceId":"b-1","destinationId":"urn:mbid:AQ+/="}"#
        #expect(encoded(.typingStart) == #"{"id":"9f1c","v":1,"type":"typing_start","# + parties)
        #expect(encoded(.typingEnd) == #"{"id":"9f1c","v":1,"type":"typing_end","# + parties)
        #expect(OutboundMessage.typingStart.kind == .typingStart)
        #expect(OutboundMessage.typingEnd.kind == .typingEnd)
    }

    @Test func `a quick reply is encoded in Apple's format`() throws {
        let request = try QuickReplyRequest(summary: "Sure?", items: items)
        #expect(
            encoded(.quickReply(request))
                == #"{"id":"9f1c","v":1,"type":"interactive","sourceId":"b-1","destinationId":"urn:mbid:AQ+/=","#
                + #""interactiveData":{"bid":"\#(Interaction.businessExtension)","data":{"version":"1.0","#
                + #""requestIdentifier":"9f1c","quick-reply":{"summaryText":"Sure?","items":["#
                + #"{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]}}}}"#)
        #expect(OutboundMessage.quickReply(request).kind == .quickReply)
    }

    @Test func `a requestIdentifier that the author chose is encoded`() throws {
        let request = try QuickReplyRequest(summary: "Sure?", items: items, requestIdentifier: "order-7")
        #expect(encoded(.quickReply(request)).contains(#""requestIdentifier":"order-7""#))
    }

    @Test(arguments: [0, 1, 6])
    func `a quick reply with fewer than two or more than five items is refused`(count: Int) {
        let items = (0..<count).map { QuickReplyRequest.Item("\($0)", title: "\($0)") }
        #expect(throws: CompositionError.itemCount(count)) {
            try QuickReplyRequest(summary: "a", items: items)
        }
    }

    @Test(arguments: [2, 5])
    func `a quick reply with two or five items is accepted`(count: Int) throws {
        let items = (0..<count).map { QuickReplyRequest.Item("\($0)", title: "\($0)") }
        #expect(try QuickReplyRequest(summary: "a", items: items).items.count == count)
    }

    @Test
    func `a quick reply with an empty or repeated text that Apple would refuse is refused at its creation`() {
        func error(_ summary: String, _ second: QuickReplyRequest.Item) -> CompositionError? {
            #expect(throws: CompositionError.self) {
                try QuickReplyRequest(summary: summary, items: [.init("a", title: "A"), second])
            }
        }
        #expect(error("", .init("b", title: "B")) == .emptySummary)
        #expect(error("s", .init("", title: "B")) == .emptyIdentifier(item: 1))
        #expect(error("s", .init("b", title: "")) == .emptyTitle(item: 1))
        #expect(error("s", .init("a", title: "B")) == .repeatedIdentifier(item: 1))
    }
}
