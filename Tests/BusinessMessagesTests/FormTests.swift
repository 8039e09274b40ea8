import Testing

@testable import BusinessMessages

struct FormTests {
    private func form(_ content: Content) throws -> Form {
        guard case .form(let form) = content else { throw Unexpected(content.kind) }
        return form
    }

    @Test func `Apple's sample of a form is read page by page`() throws {
        let form = try form(event("form").content)
        #expect(form.template == "messageForms")
        #expect(form.version == "1.1")
        #expect(!form.isPrivate)
        #expect(form.selections.map(\.pageIdentifier) == ["001", "002", "003", "004", "005", "006"])
        let item = try #require(form.page("001")?.items.first)
        #expect(
            [item.identifier, item.type, item.title, item.value] == [
                "001_03", "select", "Single 3", "option03",
            ])
        #expect(form.page("001")?.items.count == 1)
        #expect(form.page("002")?.title == "Select All That Apply")
        #expect(form.page("002")?.subtitle == "Multiple Selection")
        #expect(form.page("002")?.items.map(\.value) == ["multi1", "multi3", "multi5"])
        #expect(form.page("003")?.items.map(\.type) == ["datePicker"])
        #expect(form.page("003")?.items.map(\.value) == ["2021-03-30T07:00:00Z"])
        #expect(form.page("003")?.items.map(\.dateSeconds) == [1_617_087_600])
        #expect(form.page("004")?.items.map(\.dateSeconds) == [nil])
        #expect(form.page("004")?.items.map(\.value) == ["50.00"])
        #expect(form.page("004")?.items.map(\.title) == ["$50.00"])
        #expect(form.page("006")?.items.map(\.value) == ["Multi\nLine\nText\nInput"])
        #expect(form.page("007") == nil)
        #expect(form.interaction.version == "1.0")
        #expect(form.interaction.receivedMessage?.subtitle == "Tap to view the available pages")
        #expect(form.interaction.replyMessage?.alternateTitle == "Messages for Business Form")
        #expect(form.interaction.images.map(\.identifier) == ["1", "2"])
    }

    @Test(arguments: [
        ("true", true), (#""true""#, true), ("1", true), ("{}", true), (#""maybe""#, true), ("false", false),
        (#""false""#, false), ("0", false), ("null", false),
    ])
    func `a form is private unless the member private is missing, null or false`(
        value: String, expected: Bool
    ) throws {
        #expect(try form(content(data: #"{"dynamic":{"private":\#(value)}}"#)).isPrivate == expected)
    }

    @Test func `the answers of a private form are decoded, and isPrivate is true`() throws {
        let form = try form(event("form-private").content)
        #expect(form.isPrivate)
        #expect(form.version == "1.2")
        #expect(form.page("income")?.items.map(\.value) == ["4200"])
    }

    @Test func `a form value that is a number keeps its digits as they were written`() throws {
        let data = #"{"dynamic":{"version":1.10,"selections":{"pageIdentifier":1,"items":{"value":1.50}}}}"#
        let form = try form(content(data: data))
        #expect(form.version == "1.10")
        #expect(form.page("1")?.items.map(\.value) == ["1.50"])
    }
}
