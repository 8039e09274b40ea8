import BusinessMessages
import Testing

@testable import HandlerKit

struct AnswerRefusalTests {
    @Test(arguments: [
        ("", "/"), ("/replies", "/replies"), ("/replies/2/type", "/replies/2/type"),
        (
            "/replies/0/interactiveData/data/quick-reply/items/1/title",
            "/replies/0/interactiveData/data/quick-reply/items/1/title"
        ),
        ("/interactiveData/data/quick-reply/items", "/interactiveData/data/quick-reply/items"),
        ("/message/attachments/0/file", "/message/attachments/0/file"),
        // The names of an author's choice, which may be a customer's words or numbers.
        ("/replies/0/Jane/type", "/replies/0/…"), ("/state/Jane", "/state/…"), ("/Jane", "/…"),
        ("/replies/0/interactiveData/data/Jane~1Roe/items", "/replies/0/interactiveData/data/…"),
        ("/replies/0/interactiveData/data/4711", "/replies/0/interactiveData/data/…"),
        ("/4711", "/…"), ("/replies/12345/type", "/replies/…"), ("/replies//type", "/replies/…"),
        ("/replies/0/1", "/replies/0/…"), ("/replies/٣", "/replies/…"), ("/replies/0/TYPE", "/replies/0/…"),
    ])
    func `the log names the members of the schemas and no others`(pointer: String, place: String) {
        let problem = AnswerRefusal.Problem(
            rule: "type", pointer: pointer, found: "", allowed: "", passage: "somewhere")
        #expect(problem.place == place)
        #expect(AnswerRefusal([problem]).reason.contains("rule type at \(place) (somewhere)"))
    }

    private static let long = [QuickReplyRequest.Item]("abcdef".map { .init("\($0)", title: "Yes") })

    @Test(arguments: [
        ("Collect?", Array(long.prefix(1)), "quickReplyCount", "/items"),
        ("Collect?", long, "quickReplyCount", "/items"),
        ("", Array(long.prefix(2)), "empty", "/summaryText"),
        ("Collect?", [long[0], .init("", title: "No")], "empty", "/items/1/identifier"),
        ("Collect?", [long[0], .init("n", title: "")], "empty", "/items/1/title"),
        ("Collect?", [long[0], long[0]], "quickReplyIdentifiers", "/items/1/identifier"),
    ])
    func `the error of a quick reply that Apple would refuse is a refused answer`(
        summary: String, items: [QuickReplyRequest.Item], rule: String, place: String
    ) throws {
        let thrown = #expect(throws: CompositionError.self) {
            try QuickReplyRequest(summary: summary, items: items)
        }
        let error = try #require(thrown)
        let refusal = try #require(AnswerRefusal(thrown: error))
        #expect(refusal.problems.map(\.rule) == [rule])
        #expect(refusal.problems.first?.place == "/interactiveData/data/quick-reply" + place)
    }
}
