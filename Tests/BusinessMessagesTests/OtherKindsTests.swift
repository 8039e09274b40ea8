import BalloonJSON
import Testing

@testable import BusinessMessages

struct OtherKindsTests {
    private func app(_ content: Content) throws -> App {
        guard case .app(let app) = content else { throw Unexpected(content.kind) }
        return app
    }

    private func app(url: String) throws -> App {
        try app(event(json: #"{"type":"interactive","interactiveData":{"URL":"\#(url)"}}"#).content)
    }

    @Test func `a message of an app is decoded with the items of its URL's query`() throws {
        let app = try app(event("app").content)
        #expect(app.appID == "1471612309")
        #expect(app.appName == "Parcel Locator")
        #expect(app.queryItems.map(\.name) == ["parcel", "data", "quiet"])
        #expect(app.queryItems.first?.value == "JD 014+7")
        #expect(app.queryItems.last?.value == nil)
        #expect(app.replyText == "Leave it with the neighbour")
        #expect(app.interaction.bid?.hasSuffix("com.example.parcels.extension") == true)
        #expect(app.interaction.sessionIdentifier?.count == 36)
        #expect(app.interaction.receivedMessage?.imageTitle == "Map")
        #expect(app.interaction.receivedMessage?.secondarySubtitle == "Today")
    }

    @Test(arguments: [
        (#"?data={\"lpData\":{\"interactive\":{\"response\":{\"text\":\"a b\"}}}}"#, "a b"),
        (
            #"?x=1&data=%7B%22lpData%22:%7B%22interactive%22:%7B%22response%22:%7B%22text%22:7%7D%7D%7D%7D"#,
            "7"
        ),
        (#"?data=%7B%22other%22:1%7D"#, nil), ("?data=%7Bbroken", nil), ("?data=", nil), ("?", nil),
        ("data", nil),
        ("?data=%7B%7D#?data=x", nil),
    ])
    func `a reply text in LivePerson's convention is found, and other formats are ignored`(
        url: String, expected: String?
    )
        throws
    {
        let app = try app(url: url)
        #expect(app.replyText == expected)
        #expect(app.url == url.replacing(#"\""#, with: "\""))
    }

    @Test func `an app's URL with an invalid query is still parsed`() throws {
        #expect(
            try app(url: "https://a.b/c?%FF=%4&&=x#y").queryItems
                == [.init(name: "\u{FFFD}", value: "%4"), .init(name: "", value: "x")])
    }

    @Test
    func `a message with the bid of another extension than Apple's is of kind app, unless its data is known`()
        throws
    {
        let app = try app(
            event(json: #"{"type":"interactive","interactiveData":{"bid":"a:b:c","data":{"x":1}}}"#).content)
        #expect(app.interaction.bid == "a:b:c")
        #expect(app.url == nil)
        let known = #"{"bid":"a:b:c","data":{"dynamic":{}}}"#
        #expect(try event(json: #"{"type":"interactive","interactiveData":\#(known)}"#).kind == .form)
    }

    @Test func `an accepted invitation has the answer, the bubble's texts and the reference`() throws {
        guard case .invitation(let invitation) = try event("invitation").content else {
            throw Unexpected(.invitation)
        }
        #expect(invitation.isAccepted)
        #expect(invitation.response == "yes")
        #expect(invitation.title == "Yes, write to me here")
        #expect(invitation.subtitle == "You can stop at any time")
        #expect(invitation.referenceID == "campaign-7/12")
        #expect(invitation.interaction.requestIdentifier == "tel:+4915550001234")
    }

    @Test(arguments: [
        (#"{"displayContent":{"determinateResponse":{"type":{"no":{}}}}}"#, "no", false),
        (#"{"displayContent":{"determinateResponse":{"type":{"YES":{}}}}}"#, "YES", true),
        (#"{"displayContent":[]}"#, nil, false),
    ])
    func `the answer to an invitation is read from its id or, without one, from its type`(
        value: String, response: String?, isAccepted: Bool
    )
        throws
    {
        guard case .invitation(let invitation) = try content(data: #"{"notification":\#(value)}"#) else {
            throw Unexpected(.invitation)
        }
        #expect(invitation.response == response)
        #expect(invitation.isAccepted == isAccepted)
    }

    @Test func `a payment is decoded with its state and all other members`() throws {
        guard case .applePay(let payment) = try event("applePay").content else { throw Unexpected(.applePay) }
        #expect(payment.state == .paid)
        #expect(payment.payment?["paymentRequest"]?["total"]?["amount"]?.string == "45.00")
        #expect(payment.interaction.replyMessage?.title == "Paid with Apple Pay")
        guard case .applePay(let other) = try content(data: #"{"payment":{"state":"held"}}"#) else {
            throw Unexpected(.applePay)
        }
        #expect(other.state == ApplePay.State(rawValue: "held"))
    }

    @Test(
        arguments: [
            ("{}", []), (#"{"referenceIds":["a",7]}"#, ["a", "7"]), (#"{"referenceIds":"a"}"#, ["a"]),
            (#"{"referenceId":"a"}"#, ["a"]), (#"{"referenceIds":[]}"#, []),
            (#"{"referenceIds":[{},null]}"#, []),
        ] as [(String, [String])])
    func `a close lists the invitations that it declines`(members: String, expected: [String]) throws {
        let text = "{\"type\":\"close\"," + members.dropFirst()
        guard case .close(let close) = try event(json: text.replacing(",}", with: "}")).content else {
            throw Unexpected(.close)
        }
        #expect(close.referenceIDs == expected)
        #expect(close.isDeclinedInvitation == !expected.isEmpty)
    }

    @Test(arguments: [("tel:+4915550001234", true), ("urn:mbid:AQ", false), ("", false)])
    func `a close from a telephone number declines an invitation`(source: String, isDeclined: Bool) throws {
        guard case .close(let close) = try event(json: #"{"type":"close","sourceId":"\#(source)"}"#).content
        else {
            throw Unexpected(.close)
        }
        #expect(close.isDeclinedInvitation == isDeclined)
        #expect(close.referenceIDs == [])
    }

    @Test(arguments: [
        #"{"type":"interactive"}"#, #"{"type":"interactive","interactiveData":{}}"#,
        #"{"type":"interactive","interactiveData":{"data":{}}}"#,
        #"{"type":"interactive","interactiveData":{"data":{"listPicker":7,"dynamic":null,"event":[]}}}"#,
        #"{"type":"richLink"}"#, #"{"type":7}"#, #"{}"#, "[]", "null", #""text""#, #"{"type":"TEXT"}"#,
    ])
    func `an unknown message is kept unchanged`(text: String) throws {
        let event = try event(json: text)
        #expect(event.kind == .unrecognized)
        #expect(Array(event.message.text) == Array(text.utf8))
    }

    @Test func `an unknown message lists the names of the members that may identify its kind`() throws {
        guard case .unrecognized(let unknown) = try event("unrecognized").content else {
            throw Unexpected(.text)
        }
        #expect(unknown.type == "interactive")
        #expect(unknown.markers == ["version", "requestIdentifier", "seatPicker"])
        #expect(
            try event("unrecognized").message["interactiveData"]?["data"]?["seatPicker"]?["seat"]?.string
                == "C")
    }
}
