import BalloonJSON
import BusinessMessages
import TestSupport
import Testing

@testable import balloon

/// Tests the line that shows a message in lists and conversations.
@Suite struct MessageSummaryTests {
    @Test(arguments: [
        (
            "answers/listPicker.json",
            "listPicker: Choose your meal [Pizza: Margherita (margherita) | Funghi (funghi); Drinks: Cola (cola) | Red wine (wine)]"
        ),
        (
            "answers/timePicker.json",
            "timePicker: When? [2026-12-10T17:00+0000 (0) | 2026-12-10T18:30+0000 (1)]"
        ),
        (
            "answers/quickReply.json",
            "quickReply: When may we call you? [In the morning | At noon | Evening, or night]"
        ),
        ("answers/form-today.json", "form: A form [A (a)]"), ("answers/text.json", "text: Hello"),
    ])
    func `the summary of a question contains all its choices`(name: String, line: String) throws {
        let table = try JSONDocument(Fixture.bytes(name)).root
        let message = try #require(table["message"])
        #expect(
            MessageSummary.line(of: message, kind: MessageSummary.kind(of: message), isFromBusiness: true)
                == line)
    }

    @Test(arguments: ["richLinkData", "richLinkDataRef", "preview"])
    func `the summary of a rich link contains its title and its address`(member: String) throws {
        let message = try JSONDocument(
            Array(
                #"{"type":"richLink","\#(member)":{"url":"https://shop.example","title":"Our shop"}}"#.utf8)
        ).root
        #expect(
            MessageSummary.line(of: message, kind: .text, isFromBusiness: true)
                == "richLink: Our shop https://shop.example")
    }

    @Test func `the summary of a sign-in names its bubble, and that of the answer its result`() throws {
        let data = #""interactiveData":{"data":{"authenticate":{"oauth2":{"state":"s"}}},"#
        let bubble = #""receivedMessage":{"title":"Your account"}}"#
        let request = try JSONDocument(Array(#"{"type":"interactive",\#(data)\#(bubble)}"#.utf8)).root
        #expect(
            MessageSummary.line(of: request, kind: .authentication, isFromBusiness: true)
                == "authentication: sign-in: Your account")
        let answer = try JSONDocument(Fixture.bytes("messages/authentication-failure.json")).root
        #expect(
            MessageSummary.line(of: answer, kind: .authentication, isFromBusiness: false)
                == "authentication: authentication: failure")
    }

    @Test func `the summary of a request to pay names its bubble`() throws {
        let data = #""interactiveData":{"data":{"payment":{"paymentRequest":{"currencyCode":"EUR"}}},"#
        let bubble = #""receivedMessage":{"title":"Repair"}}"#
        let request = try JSONDocument(Array(#"{"type":"interactive",\#(data)\#(bubble)}"#.utf8)).root
        #expect(
            MessageSummary.line(of: request, kind: .applePay, isFromBusiness: true)
                == "applePay: payment request: Repair")
    }

    @Test func `the summary of a customer's choice contains the chosen items`() throws {
        let message = try JSONDocument(Fixture.bytes("messages/listPicker.json")).root
        #expect(
            MessageSummary.line(of: message, kind: .listPicker, isFromBusiness: false)
                == "listPicker: Apples, Pears, Rye bread")
    }
}
