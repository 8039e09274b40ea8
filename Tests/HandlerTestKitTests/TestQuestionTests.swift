import HandlerKit
import HandlerTestKit
import Testing

private struct Loyalty: RetentionHandler {
    struct Tired: Error {}

    func retention(
        _ request: RetentionRequest, _ context: RetentionContext
    ) async throws -> RetentionChoice? {
        switch (request.productID.text, request.locale.code) {
        case ("p.monthly", "de-DE"): .message("bleib")
        case ("p.monthly", _): context.deadline > .now ? .message("stay") : nil
        case ("p.tired", _): throw Tired()
        default: nil
        }
    }
}

struct TestQuestionTests {
    @Test func `a question gets the choice of the handler for its product and locale`() async throws {
        let expected: [(String, String, RetentionChoice?)] = [
            ("p.monthly", "de-DE", .message("bleib")), ("p.monthly", "en-US", .message("stay")),
            ("p.yearly", "en-US", nil),
        ]
        for (product, locale, choice) in expected {
            let question = try TestQuestion(product: product, locale: locale, within: .seconds(60))
            #expect(try await question.ask(Loyalty()) == choice)
        }
        let tired = try TestQuestion(product: "p.tired")
        await #expect(throws: Loyalty.Tired.self) { try await tired.ask(Loyalty()) }
    }

    @Test func `a name that the App Store cannot send is refused`() {
        #expect(throws: TestQuestion.Malformed.product("p monthly")) {
            try TestQuestion(product: "p monthly")
        }
        #expect(throws: TestQuestion.Malformed.locale("de_DE")) {
            try TestQuestion(product: "p", locale: "de_DE")
        }
    }
}
