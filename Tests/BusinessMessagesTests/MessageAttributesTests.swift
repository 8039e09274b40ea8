import BalloonJSON
import BusinessMessages
import Testing

struct MessageAttributesTests {
    private func headers(
        capabilityList: String? = nil, locale: String? = nil, intent: String? = nil, group: String? = nil
    ) -> EnvelopeHeaders {
        func bytes(_ text: String?) -> ArraySlice<UInt8>? { text.map { Array($0.utf8)[...] } }
        return EnvelopeHeaders(
            capabilityList: bytes(capabilityList), locale: bytes(locale), intent: bytes(intent),
            group: bytes(group))
    }

    @Test(arguments: [
        ("QUICK,LIST,TIME,AUTH,AUTH2,FORM", "QUICK,LIST,TIME,AUTH,AUTH2,FORM"),
        ("quick, list ,\tForm", "QUICK,LIST,FORM"),
        ("AUTH%2CLIST%2cquick", "AUTH,LIST,QUICK"),
        ("QUICK,HOLO,quick", "QUICK,HOLO"),
        ("", ""),
        (" , ,", ""),
        ("auth", "AUTH"),
        ("LIST%", "LIST%"),
        ("LIST%2", "LIST%2"),
        ("LIST%zz", "LIST%ZZ"),
    ])
    func `a capability list is parsed in either case, with blanks and percent-encoded`(
        list: String, expected: String
    ) {
        let capabilities = Capabilities(parsing: list)
        #expect(capabilities.description == expected)
        #expect(Capabilities(parsing: capabilities.description.replacing("%", with: "%25")) == capabilities)
    }

    @Test func `the constants for known capabilities have Apple's names`() {
        let all: Capabilities = [
            .quickReply, .listPicker, .timePicker, .authentication, .authentication2, .form,
        ]
        #expect(all == Capabilities(parsing: "QUICK,LIST,TIME,AUTH,AUTH2,FORM"))
        #expect(all.contains(.quickReply))
        #expect(!Capabilities(parsing: "AUTH2").contains(.authentication))
        #expect(Capabilities(parsing: "holo").contains(Capability(rawValue: "Holo")))
    }

    @Test func `the body's locale, intent and group override the headers`() throws {
        let attributes = MessageAttributes.read(
            document: try sample("text"),
            headers: headers(capabilityList: "QUICK", locale: "de_DE", intent: "i", group: "g"))
        #expect(
            attributes
                == MessageAttributes(
                    capabilities: [.quickReply], locale: "en_US", intent: "stock_question", group: "sales"))
    }

    @Test(arguments: [#"{}"#, #"{"locale":"","intent":null,"group":[]}"#])
    func `a header's attribute is used when the body lacks it`(body: String) throws {
        let attributes = MessageAttributes.read(
            document: try json(body), headers: headers(locale: "de_DE", intent: "i", group: "g"))
        #expect(attributes == MessageAttributes(locale: "de_DE", intent: "i", group: "g"))
        #expect(MessageAttributes.read(document: try json(body)) == MessageAttributes())
        #expect(MessageAttributes.read(document: try json(body), headers: headers(locale: "")).locale == nil)
    }

    @Test func `a header that is not UTF-8 is decoded with replacement characters`() throws {
        let headers = EnvelopeHeaders(
            capabilityList: [0x51, 0xFF, 0x2C, 0x41][...], locale: [0x64, 0xFF][...])
        let attributes = MessageAttributes.read(document: try json("{}"), headers: headers)
        #expect(attributes.locale == "d\u{FFFD}")
        #expect(attributes.capabilities.description == "Q\u{FFFD},A")
    }

    @Test func `an event has the given attributes, or those of its body`() throws {
        let document = try sample("text")
        let given = InboundEvent.decode(
            message: document, id: MessageID("m"), business: BusinessID("b"), customer: CustomerID("c"),
            attributes: MessageAttributes(capabilities: [.form]))
        #expect(given.id == MessageID("m"))
        #expect(given.business == BusinessID("b"))
        #expect(given.customer == CustomerID("c"))
        #expect(given.attributes == MessageAttributes(capabilities: [.form]))
        let own = InboundEvent.decode(message: document)
        #expect(own.business.rawValue == document.root["destinationId"]?.string)
        #expect(own.customer.rawValue == document.root["sourceId"]?.string)
        #expect(own.attributes.group == "sales")
        #expect(try event(json: "[]").id == MessageID(""))
    }
}
