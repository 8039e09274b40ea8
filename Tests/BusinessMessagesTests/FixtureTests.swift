import BalloonJSON
import BusinessMessages
import Testing

struct FixtureTests {
    @Test(arguments: Kind.allCases)
    func `every kind has a fixture with the name of the kind`(kind: Kind) throws {
        #expect(sampleNames.contains(kind.rawValue))
    }

    @Test(arguments: sampleNames)
    func `every fixture is of the kind that its name begins with`(name: String) throws {
        let kind = try #require(Kind(rawValue: String(name.prefix { $0 != "-" })))
        #expect(try event(name).kind == kind)
    }

    @Test(arguments: sampleNames)
    func `a decoded event keeps every byte of its message`(name: String) throws {
        let document = try sample(name)
        let event = InboundEvent.decode(message: document)
        #expect(event.message.text == document.root.text)
        #expect(event.id.rawValue == document.root["id"]?.string)
    }

    @Test(arguments: sampleNames)
    func `every fixture's envelope is accepted`(name: String) throws {
        let document = try sample(name)
        // This sample names the business and the customer in the headers only.
        let party = name == "unrecognized-reference" ? Array("party".utf8)[...] : nil
        let headers = EnvelopeHeaders(sourceID: party, destinationID: party)
        let envelope = try InboundEnvelope.read(document: document, headers: headers)
        #expect(envelope.hasPayloadReference == name.hasSuffix("-reference"))
    }
}
