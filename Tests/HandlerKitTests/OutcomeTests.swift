import BalloonJSON
import BusinessMessages
import HandlerKit
import Testing

struct OutcomeTests {
    /// One reply for each letter: `t` a text, `q` a quick reply, `l` a link, which is of the kind `text`, `p` a list picker.
    private func replies(_ letters: String) throws -> [Reply] {
        try letters.map { letter in
            switch letter {
            case "t": .text("Collect or delivery?")
            case "q":
                .quickReply(
                    try QuickReplyRequest(
                        summary: "Choose",
                        items: [.init("c", title: "Collect"), .init("d", title: "Delivery")]))
            case "l": .richLink(RichLink("https://example.com/"))
            default:
                .listPicker(
                    ListPickerRequest(
                        [.init("All", items: [.init("r", title: "Rye")])],
                        presentation: Presentation("Bread")))
            }
        }
    }

    @Test(arguments: [
        ("", false), ("t", false), ("p", false), ("tq", false), ("ttq", false), ("tlq", false),
        ("tqtq", false),
        ("qt", true), ("q", true), ("lq", false), ("tqq", true), ("tqlq", false), ("tqqt", true),
        ("tpq", true),
        ("tptq", false), ("tqtqq", true), ("tqt", false), ("ptq", false),
    ])
    func `each quick reply needs a text after the question before it`(letters: String, isWarned: Bool) throws
    {
        let replies = try replies(letters)
        #expect(Outcome.handled(replies).asksWithoutText == isWarned)
        #expect(Outcome.handoff(reason: "", replies: replies).asksWithoutText == isWarned)
    }
}
