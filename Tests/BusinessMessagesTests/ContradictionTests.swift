import BalloonJSON
import BusinessMessages
import Testing

/// Tests how validation treats the contradictions of Apple's documents; each name has one contradiction and its
/// solution.
struct ContradictionTests {
    private let data = "/interactiveData/data"

    private func rules(_ name: String, _ pointer: String, _ value: String?) throws -> Set<MessageRule> {
        let changed = try outboundSample(name).replacing(pointer, by: value)
        return Set(OutboundMessage.problems(in: changed.root).map(\.rule))
    }

    @Test func `a list picker's items are called items, although Apple's table calls them listPickerItem`()
        throws
    {
        let items = #"[{"title":"S","listPickerItem":[{"identifier":"a","title":"A"}]}]"#
        let rules = try rules("listPicker", data + "/listPicker/sections", items)
        #expect(rules.isSuperset(of: [.required, .unknownMember]))
    }

    @Test(arguments: ["quick-reply", "listPicker"])
    func `quick-reply and listPicker are objects, although Apple's tables call them arrays`(name: String)
        throws
    {
        let fixture = name == "listPicker" ? name : "quickReply"
        #expect(try rules(fixture, data + "/" + name, "[]").contains(.type))
    }

    @Test(arguments: ["listPicker", "timePicker", "form", "authentication", "app"])
    func `replyMessage is optional as in Apple's samples, although Apple's tables require it`(name: String)
        throws
    {
        #expect(try rules(name, "/interactiveData/replyMessage", nil).isDisjoint(with: [.required]))
    }

    @Test func `a bubble's imageIdentifier is an integer as in Apple's table, or a string as in its samples`()
        throws
    {
        let image = #"[{"identifier":1,"data":"AAAA"}]"#
        let message = try outboundSample("applePay").replacing(data + "/images", by: image)
        for value in ["1", #""1""#] {
            let changed = try message.replacing("/interactiveData/receivedMessage/imageIdentifier", by: value)
            let rules = OutboundMessage.problems(in: changed.root).map(\.rule)
            #expect(rules == [.imageFormat])
        }
    }

    @Test
    func
        `a payment's bubble with the style icon is a warning: Apple's tutorial sends it, its reference forbids it`()
        throws
    {
        #expect(
            try rules("applePay", "/interactiveData/receivedMessage/style", #""icon""#)
                == [.paymentStyle, .imagePixels])
        #expect(MessageRule.paymentStyle.severity == .warning)
    }

    @Test(arguments: [(#""1.0""#, false), (#""2.0""#, true)])
    func
        `a sign-in of version 2 has the version 2_0 of Apple's reference, not the 1_0 of Apple's tutorial`(
            version: String, isAccepted: Bool
        ) throws
    {
        #expect(try rules("authentication", data + "/version", version).isEmpty == isAccepted)
    }

    @Test func `a message has version, or mspVersion as in some of Apple's samples, but not neither`() throws
    {
        let without = try outboundSample("listPicker").replacing(data + "/version", by: nil)
        #expect(OutboundMessage.problems(in: without.root).map(\.pointer) == [data + "/version"])
        let other = try without.replacing(data + "/mspVersion", by: #""1.0""#)
        #expect(OutboundMessage.problems(in: other.root) == [])
    }

    @Test(arguments: ["UIKeyboardTypeEmailAddress", "emailAddress", "UIKeyboardTypeTwitter"])
    func `a keyboard is named as in Apple's table or with the prefix UIKeyboardType as in Apple's sample`(
        name: String
    )
        throws
    {
        let place = data + "/dynamic/data/pages/5/options/keyboardType"
        #expect(try rules("form", place, "\"\(name)\"") == [])
    }

    @Test func `dates in another form than dateFormat are a warning when Apple's sample writes them so`()
        throws
    {
        let place = data + "/dynamic/data/pages/4/options"
        let sample =
            #"{"startDate":"2020-02-12","maximumDate":"2020-02-13","minimumDate":"2020-01-01","dateFormat":"MM/dd/yyyy"}"#
        #expect(try rules("form", place, sample) == [.dateSpelling])
        #expect(MessageRule.dateSpelling.severity == .warning)
    }

    @Test func `a page of type picker needs no subtitle, because the one in Apple's sample has none`() throws
    {
        let sample = try outboundSample("form").root
        let picker = sample["interactiveData"]?["data"]?["dynamic"]?["data"]?["pages"]?[3]
        #expect(picker?["type"]?.string == "picker")
        #expect(picker?["subtitle"] == nil)
        #expect(MessageRule.pageQuestion.severity == .warning)
    }

    @Test
    func `multipleSelection is a Boolean, although Apple's reference gives it the default singleSelect`()
        throws
    {
        let place = data + "/dynamic/data/pages/1/multipleSelection"
        #expect(try rules("form", place, #""singleSelect""#) == [.type])
        #expect(try rules("form", place, nil) == [])
    }

    @Test(arguments: [(#""1.1""#, true), (#""1.2""#, true), (#""2""#, false)])
    func `a form has the version 1_1 of Apple's reference, or the 1_2 that other clients send`(
        version: String, isAccepted: Bool
    ) throws {
        #expect(try rules("form", data + "/dynamic/version", version).isEmpty == isAccepted)
    }

    @Test
    func
        `lineItems is an optional list that is not empty, although Apple's tables also require it or call it a string`()
        throws
    {
        let place = data + "/payment/paymentRequest/lineItems"
        #expect(try rules("applePay", place, nil) == [])
        #expect(try rules("applePay", place, "[]") == [.empty])
        #expect(try rules("applePay", place, #""59.00""#) == [.type])
    }

    @Test(arguments: ["1525722894057", #""1525722894""#])
    func `a session's time is a string of seconds as in Apple's reference, or milliseconds as in its sample`(
        value: String
    ) throws {
        #expect(try rules("applePay", data + "/payment/merchantSession/epochTimestamp", value) == [])
    }

    @Test func `initiativeContext must equal the gateway's URL, although in Apple's sample it lacks a slash`()
        throws
    {
        let place = data + "/payment/merchantSession/initiativeContext"
        #expect(
            try rules("applePay", place, #""https://sams.example.com/paymentGateway""#) == [
                .initiativeContext
            ])
    }

    @Test(arguments: ["chinaUnionPay", "interac"])
    func `card networks that only Apple's tutorial uses are accepted`(network: String) throws {
        let place = data + "/payment/paymentRequest/applePay/supportedNetworks/0"
        #expect(try rules("applePay", place, "\"\(network)\"") == [])
    }

    @Test func `contact fields may be missing, although Apple's reference calls them required`() throws {
        #expect(
            try rules("applePay", data + "/payment/paymentRequest/requiredBillingContactFields", nil) == [])
    }

    @Test(arguments: [#""Final""#, #""final""#, #""Pending""#])
    func `the type of an amount is final or Final, because Apple writes both`(value: String) throws {
        #expect(try rules("applePay", data + "/payment/paymentRequest/total/type", value) == [])
    }

    @Test(arguments: [(#""148861""#, true), ("148861", false)])
    func `an attachment's size must be a string, although Apple's table shows a number`(
        value: String, isAccepted: Bool
    )
        throws
    {
        #expect(try rules("text-attachments", "/attachments/0/size", value).isEmpty == isAccepted)
    }

    @Test func `a missing appName or appIcon is a warning, because Apple's samples lack them`() throws {
        for name in ["appName", "appIcon"] {
            #expect(try rules("app", "/interactiveData/" + name, nil) == [.appDescription])
        }
        #expect(MessageRule.appDescription.severity == .warning)
    }

    @Test func `a missing appId is an error, although LivePerson's metadata may lack it`() throws {
        #expect(try rules("app", "/interactiveData/appId", nil) == [.required])
    }

    @Test(arguments: [#""1471612309""#, "1471612309"])
    func `appId is a string or an integer, because Apple's documents show both`(value: String) throws {
        #expect(try rules("app", "/interactiveData/appId", value) == [])
    }

    @Test
    func
        `additional parameters with a paragraph sign instead of an ampersand, as in Apple's sample, are a warning`()
        throws
    {
        let place = data + "/authenticate/oauth2/additionalParameters"
        #expect(try rules("authentication", place, #""parameter1=01¶meter2=02""#) == [.additionalParameters])
    }

    @Test
    func
        `a payload reference needs only signature-base64, because signature differs from it in Apple's sample`()
        throws
    {
        let reference = try outboundSample("reference").root["interactiveDataRef"]
        #expect(reference?["signature"]?.string?.hasPrefix("81d616c8") == true)
        #expect(try rules("reference", "/interactiveDataRef/signature", nil) == [])
        #expect(try rules("reference", "/interactiveDataRef/signature-base64", nil) == [.required])
    }
}
