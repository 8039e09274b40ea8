import BalloonJSON
import BusinessMessages
import TestSupport
import Testing

@Suite struct RedactionTests {
    private func redacted(_ interactiveData: String) throws -> String? {
        let message = #"{"id":"1","type":"interactive","interactiveData":\#(interactiveData),"v":1}"#
        let event = InboundEvent.decode(message: try JSONDocument(Array(message.utf8)))
        return event.redactedMessage.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `an authentication token is redacted, and its status is stored`() throws {
        let kept = try redacted(
            #"{"data":{"authenticate":{"status":"authenticated","token":"c2VjcmV0"},"token":"mine"}}"#)
        #expect(
            kept
                == #"{"id":"1","type":"interactive","interactiveData":{"data":{"authenticate":{"status":"authenticated","token":"[not kept]"},"token":"mine"}},"v":1}"#
        )
    }

    @Test func `an authorization code is redacted, but the code of a device's error is stored`() throws {
        let failed =
            #"{"data":{"authenticate":{"status":"failed","errors":[{"code":2,"domain":"d","message":"m"}]}}}"#
        #expect(try redacted(failed) == nil)
        let kept = try #require(
            try redacted(
                #"{"data":{"authenticate":{"code":"S3CRET","errors":[{"code":2,"token":"S3CRET"}]}}}"#))
        #expect(!kept.contains("S3CRET"))
        #expect(kept.contains(#""errors":[{"code":2,"#))
    }

    @Test func `a payment token is redacted at every place`() throws {
        let kept = try #require(
            try redacted(
                #"{"data":{"payment":{"status":"paid","deep":[{"paymentToken":{"paymentData":"4111"}}]}}}"#))
        #expect(kept.contains(#""paymentToken":"[not kept]""#))
        #expect(!kept.contains("4111"))
        #expect(kept.contains("paid"))
    }

    @Test(arguments: [
        #"[{"data":{"authenticate":{"token":"S3CRET"}}}]"#,
        #"{"data":[{"authenticate":{"token":"S3CRET"}}]}"#,
        #"{"data":{"authenticate":[{"token":"S3CRET"}]}}"#,
        #"["text",{"data":[1,{"authenticate":[[{"token":"S3CRET"}]]}]}]"#,
        #"[{"data":[{"payment":[{"paymentToken":"S3CRET"}]}]}]"#,
        #"[{"data":[{"dynamic":[{"private":true,"selections":{"items":{"identifier":"S3CRET"}}}]}]}]"#,
        #"{"data":{"quick-reply":{"selectedIndex":0},"authenticate":{"code":"S3CRET"}}}"#,
    ])
    func `a list in place of an object is redacted like the object`(interactiveData: String) throws {
        let kept = try #require(try redacted(interactiveData))
        #expect(!kept.contains("S3CRET"))
        #expect(kept.contains("[not kept]"))
    }

    @Test(arguments: [
        #"{"data":{"dynamic":FORM,"replyMessage":{"title":"Appleseed"}}}"#,
        #"{"data":{"dynamic":FORM},"replyMessage":[{"subtitle":"Appleseed"}]}"#,
    ])
    func `the item identifiers and the customer's bubble of a private form are redacted`(data: String) throws
    {
        let form =
            #"{"private":true,"selections":[{"pageIdentifier":"p1","items":[{"identifier":"Appleseed"}]}]}"#
        let kept = try #require(try redacted(data.replacing("FORM", with: form)))
        #expect(!kept.contains("Appleseed"))
        #expect(kept.contains(#""replyMessage":"[not kept]""#))
        #expect(kept.contains(#""pageIdentifier":"p1""#))
    }

    @Test func `the answers of a private form are redacted, and the identifiers of its pages are stored`()
        throws
    {
        let form = { (isPrivate: Bool) in
            #"{"data":{"dynamic":{"private":\#(isPrivate),"selections":[{"pageIdentifier":"p1","title":"Name","items":[{"identifier":"i1","title":"J. Appleseed","value":"J. Appleseed"}]}]}}}"#
        }
        let kept = try #require(try redacted(form(true)))
        #expect(kept.contains(#""pageIdentifier":"p1""#))
        #expect(!kept.contains("Appleseed"))
        #expect(try redacted(form(false)) == nil)
    }

    @Test(arguments: Fixture.names(in: "messages"))
    func `a message without secrets is stored unchanged`(_ name: String) throws {
        let event = InboundEvent.decode(message: try JSONDocument(Fixture.bytes("messages/" + name)))
        guard let kept = event.redactedMessage else { return }
        let secretive: Set<Kind> = [.authentication, .applePay, .form]
        #expect(secretive.contains(event.kind))
        #expect(InboundEvent.decode(message: try JSONDocument(kept)).kind == event.kind)
    }

    private func redactedOutbound(_ data: String) throws -> String? {
        let message = #"{"type":"interactive","interactiveData":{"data":\#(data)}}"#
        return OutboundMessage.redacted(try JSONDocument(Array(message.utf8)).root)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: ["state", "clientSecret", "additionalParameters"])
    func `a secret of a request to sign in is redacted in both directions`(_ member: String) throws {
        let data = #"{"authenticate":{"oauth2":{"responseType":"code","\#(member)":"S3CRET"}}}"#
        for kept in [try redactedOutbound(data), try redacted(#"{"data":\#(data)}"#)] {
            let kept = try #require(kept)
            #expect(kept.contains(#""responseType":"code","\#(member)":"[not kept]""#))
            #expect(!kept.contains("S3CRET"))
        }
    }

    @Test(arguments: ["merchantSession", "endpoints", "paymentToken"])
    func `a secret of a payment request is redacted in both directions`(_ member: String) throws {
        let data = #"{"payment":{"\#(member)":{"x":"S3CRET"},"paymentRequest":{"currencyCode":"USD"}}}"#
        for kept in [try redactedOutbound(data), try redacted(#"{"data":\#(data)}"#)] {
            let kept = try #require(kept)
            #expect(kept.contains(#""\#(member)":"[not kept]","paymentRequest":{"currencyCode":"USD"}"#))
            #expect(!kept.contains("S3CRET"))
        }
    }

    @Test func `the identifier of a payment is cut to eight characters in both directions, and no other`()
        throws
    {
        let payment =
            #"{"requestIdentifier":"8EF7A0B4-0000-4000-8000-000000000001","payment":{"state":"paid"}}"#
        for kept in [try redactedOutbound(payment), try redacted(#"{"data":\#(payment)}"#)] {
            let kept = try #require(kept)
            #expect(kept.contains(#""requestIdentifier":"8EF7A0B4","payment":{"state":"paid"}"#))
        }
        // A cut identifier stays as it is.
        #expect(try redactedOutbound(#"{"requestIdentifier":"8EF7A0B4","payment":{"state":"paid"}}"#) == nil)
        let picker = #"{"requestIdentifier":"8EF7A0B4-0000-4000-8000-000000000001","listPicker":{}}"#
        #expect(try redactedOutbound(picker) == nil)
    }

    @Test func `a private form of a business is its question, and is stored unchanged`() throws {
        #expect(
            try redactedOutbound(
                #"{"dynamic":{"private":true,"data":{"pages":[{"title":"Your birthday?","identifier":"1"}]}}}"#
            )
                == nil)
    }

    @Test func `redacted text in the place of a secret is found, and elsewhere is ignored`() throws {
        func holds(_ data: String) throws -> Bool {
            let message = #"{"interactiveData":{"data":\#(data)}}"#
            return OutboundMessage.holdsRedactedText(try JSONDocument(Array(message.utf8)).root)
        }
        #expect(try holds(#"{"authenticate":{"oauth2":{"state":"[not kept]"}}}"#))
        #expect(try holds(#"{"payment":[{"endpoints":"[not kept]"}]}"#))
        #expect(try !holds(#"{"authenticate":{"oauth2":{"state":"mine","scope":["[not kept]"]}}}"#))
        #expect(try !holds(#"{"listPicker":{"state":"[not kept]"}}"#))
    }

    @Test(arguments: Fixture.names(in: "outbound"))
    func `only a request to sign in or to pay has secrets`(_ name: String) throws {
        let message = try JSONDocument(Fixture.bytes("outbound/" + name))
        let kept = OutboundMessage.redacted(message.root)
        #expect((kept != nil) == (name.hasPrefix("authentication") || name == "applePay.json"))
        #expect(
            try OutboundMessage.holdsRedactedText(JSONDocument(kept ?? message.bytes).root) == (kept != nil))
    }
}
