import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// The identifiers of one person that an accepted invitation links.
struct InvitationLinksTests {
    private static let business = BusinessID("b-1")
    private static let number = CustomerID("tel:+49155501")
    private static let customer = CustomerID("urn:mbid:invited")

    private func take(_ new: AppendedRecord, _ record: UInt64, into links: inout InvitationLinks) throws {
        var text: [UInt8] = []
        JournalLine.write(body: new.body, record: record, batch: record, onto: &text)
        let line = text.dropLast()
        let header = try #require(JournalLine.header(of: line))
        links.take(try #require(JournalRecord(line, header)), number: record, in: line)
    }

    @Test(arguments: [false, true])
    func `an acceptance counts also when its content came by a reference`(isReference: Bool) throws {
        let acceptance = Array(
            #"{"type":"interactive","interactiveData":{"data":{"referenceId":"order-1","requestIdentifier":"tel:+49155501","notification":{"id":"yes"}}}}"#
                .utf8)
        let invitation = Array(
            #"{"type":"interactive","interactiveData":{"data":{"requestIdentifier":"r","notification":{"referenceId":"order-1"}}}}"#
                .utf8)
        var links = InvitationLinks()
        try take(
            JournalBody.message(
                ReceivedMessage(
                    business: Self.business, customer: Self.number, id: MessageID("i"), message: invitation,
                    outboundKind: .invitation)), 2, into: &links)
        try take(
            JournalBody.message(
                ReceivedMessage(
                    business: Self.business, customer: Self.customer, id: MessageID("a"),
                    message: isReference ? Array(#"{"interactiveDataRef":{}}"#.utf8) : acceptance,
                    hasPayloadReference: isReference)), 3, into: &links)
        if isReference {
            try take(
                JournalBody.resolved(of: 3, .resolved(message: acceptance), at: Timestamp(milliseconds: 0)),
                4,
                into: &links)
        }
        #expect(links.closure(of: [Self.number]) == [Self.number, Self.customer])
    }
}
