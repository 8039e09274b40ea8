import BusinessMessages
import Testing

struct SummaryTests {
    @Test(arguments: [
        ("text", "Good morning, is the blue bicycle still in stock?"),
        ("text-attachments", "The receipt  and the damage [IMG_0412.HEIC] [receipt (2).pdf]"),
        ("text-tapback", "Loved “Your bicycle is ready”"),
        ("quickReply", "In the evening"),
        ("listPicker", "Apples, Pears, Rye bread"),
        ("timePicker", "2026-07-10T17:00+0000"),
        ("timePicker-legacy", "2026-07-10T08:30:00Z"),
        (
            "form",
            "Single 3, Multi 1, Multi 3, Multi 5, 03/30/2021, $50.00, J. Appleseed, Multi\nLine\nText\nInput"
        ),
        ("form-private", "a private form"),
        ("form-reference", "Single 3"),
        ("authentication", "authentication: completed"),
        ("authentication-classic", "authentication: authenticated"),
        ("authentication-classicFailed", "authentication: failed"),
        ("authentication-failure", "authentication: failure"),
        ("applePay", "payment: paid"),
        ("app", "Leave it with the neighbour"),
        ("invitation", "Yes, write to me here"),
        ("typingStart", "is writing"),
        ("typingEnd", "stopped writing"),
        ("close", "closed the conversation"),
        ("close-declined", "declined an invitation"),
        ("unrecognized", "interactive version requestIdentifier seatPicker"),
        ("unrecognized-reference", "interactive"),
    ])
    func `every inbound fixture has the expected summary`(name: String, expected: String) throws {
        #expect(try event(name).summary == expected)
    }

    @Test func `every inbound fixture is in the list of expected summaries`() throws {
        for name in sampleNames { #expect(try !event(name).summary.isEmpty) }
    }

    @Test(arguments: [
        (#"{"quick-reply":{"selectedIdentifier":"x"}}"#, "x"),
        (#"{"quick-reply":{},"replyMessage":{"title":"t"}}"#, "t"),
        (#"{"quick-reply":{}}"#, "quick reply"),
        (#"{"listPicker":{},"replyMessage":{"title":"t"}}"#, "t"),
        (#"{"event":{}}"#, "time picker"),
        (#"{"dynamic":{}}"#, "form"),
        (#"{"dynamic":{"private":true,"selections":[{"items":[{"title":"secret"}]}]}}"#, "a private form"),
        (#"{"authenticate":{"token":"secret"}}"#, "authentication: unknown"),
        (#"{"payment":{}}"#, "payment: unknown"),
        (#"{"notification":{}}"#, "invitation"),
    ])
    func `the summary of an incomplete message uses the values that are available`(
        data: String, expected: String
    ) throws {
        let text = #"{"type":"interactive","interactiveData":{"data":\#(data)}}"#
        #expect(try event(json: text).summary == expected)
    }
}
