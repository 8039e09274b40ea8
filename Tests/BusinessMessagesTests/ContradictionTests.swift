import BalloonJSON
import BusinessMessages
import Testing

/// Apple's documents contradict themselves; each test names one contradiction and its solution.
struct ContradictionTests {
    private let data = "/interactiveData/data"

    private func rules(_ name: String, _ pointer: String, _ value: String?) throws -> Set<MessageRule> {
        let changed = try outboundSample(name).replacing(pointer, by: value)
        return Set(OutboundMessage.problems(in: changed.root).map(\.rule))
    }

    @Test func `the table says listPickerItem, the wire says items: items is right`() throws {
        let items = #"[{"title":"S","listPickerItem":[{"identifier":"a","title":"A"}]}]"#
        let rules = try rules("listPicker", data + "/listPicker/sections", items)
        #expect(rules.isSuperset(of: [.required, .unknownMember]))
    }

    @Test(arguments: ["quick-reply", "listPicker"])
    func `the tables call quick-reply and listPicker an array, both are objects`(name: String) throws {
        let fixture = name == "listPicker" ? name : "quickReply"
        #expect(try rules(fixture, data + "/" + name, "[]").contains(.type))
    }

    @Test(arguments: ["listPicker", "timePicker", "form", "authentication", "app"])
    func `the tables require replyMessage, Apple's samples do without: it is optional`(name: String) throws {
        #expect(try rules(name, "/interactiveData/replyMessage", nil).isDisjoint(with: [.required]))
    }

    @Test func `the table calls a bubble's imageIdentifier an integer, the samples a string: both are read`()
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

    @Test func `the reference allows only style large for Apple Pay, the tutorial sends icon: a warning`()
        throws
    {
        #expect(
            try rules("applePay", "/interactiveData/receivedMessage/style", #""icon""#)
                == [.paymentStyle, .imagePixels])
        #expect(MessageRule.paymentStyle.severity == .warning)
    }

    @Test(arguments: [(#""1.0""#, false), (#""2.0""#, true)])
    func
        `Apple's reference has version 2_0 for the new authentication, its tutorial 1_0: only 2_0 is accepted`(
            version: String, isAccepted: Bool
        ) throws
    {
        #expect(try rules("authentication", data + "/version", version).isEmpty == isAccepted)
    }

    @Test func `some samples call version mspVersion: either will do, none will not`() throws {
        let without = try outboundSample("listPicker").replacing(data + "/version", by: nil)
        #expect(OutboundMessage.problems(in: without.root).map(\.pointer) == [data + "/version"])
        let other = try without.replacing(data + "/mspVersion", by: #""1.0""#)
        #expect(OutboundMessage.problems(in: other.root) == [])
    }

    @Test(arguments: ["UIKeyboardTypeEmailAddress", "emailAddress", "UIKeyboardTypeTwitter"])
    func `the table says emailAddress, the sample UIKeyboardTypeEmailAddress: both are accepted`(name: String)
        throws
    {
        let place = data + "/dynamic/data/pages/5/options/keyboardType"
        #expect(try rules("form", place, "\"\(name)\"") == [])
    }

    @Test func `the sample's dates are not in its dateFormat: a warning`() throws {
        let place = data + "/dynamic/data/pages/4/options"
        let sample =
            #"{"startDate":"2020-02-12","maximumDate":"2020-02-13","minimumDate":"2020-01-01","dateFormat":"MM/dd/yyyy"}"#
        #expect(try rules("form", place, sample) == [.dateSpelling])
        #expect(MessageRule.dateSpelling.severity == .warning)
    }

    @Test func `subtitle is required of pages, the sample's wheel has none: wheels may do without`() throws {
        let sample = try outboundSample("form").root
        let picker = sample["interactiveData"]?["data"]?["dynamic"]?["data"]?["pages"]?[3]
        #expect(picker?["type"]?.string == "picker")
        #expect(picker?["subtitle"] == nil)
        #expect(MessageRule.pageQuestion.severity == .warning)
    }

    @Test func `the reference gives multipleSelection the default singleSelect: it is a Boolean`() throws {
        let place = data + "/dynamic/data/pages/1/multipleSelection"
        #expect(try rules("form", place, #""singleSelect""#) == [.type])
        #expect(try rules("form", place, nil) == [])
    }

    @Test(arguments: [(#""1.1""#, true), (#""1.2""#, true), (#""2""#, false)])
    func `the reference gives forms the version 1_1, other clients send 1_2: both are accepted`(
        version: String, isAccepted: Bool
    ) throws {
        #expect(try rules("form", data + "/dynamic/version", version).isEmpty == isAccepted)
    }

    @Test func `lineItems are required, not required, and a string: an optional list that is not empty`()
        throws
    {
        let place = data + "/payment/paymentRequest/lineItems"
        #expect(try rules("applePay", place, nil) == [])
        #expect(try rules("applePay", place, "[]") == [.empty])
        #expect(try rules("applePay", place, #""59.00""#) == [.type])
    }

    @Test(arguments: ["1525722894057", #""1525722894""#])
    func `the reference makes times strings of seconds, the sample has milliseconds: both are accepted`(
        value: String
    ) throws {
        #expect(try rules("applePay", data + "/payment/merchantSession/epochTimestamp", value) == [])
    }

    @Test func `initiativeContext must match, the sample's lacks a slash: it must match`() throws {
        let place = data + "/payment/merchantSession/initiativeContext"
        #expect(
            try rules("applePay", place, #""https://sams.example.com/paymentGateway""#) == [
                .initiativeContext
            ])
    }

    @Test(arguments: ["chinaUnionPay", "interac"])
    func `the list of networks lacks some that the tutorial uses: they are accepted`(network: String) throws {
        let place = data + "/payment/paymentRequest/applePay/supportedNetworks/0"
        #expect(try rules("applePay", place, "\"\(network)\"") == [])
    }

    @Test func `the reference calls every contact field required: none is`() throws {
        #expect(
            try rules("applePay", data + "/payment/paymentRequest/requiredBillingContactFields", nil) == [])
    }

    @Test(arguments: [#""Final""#, #""final""#, #""Pending""#])
    func `the type of an amount is written final and Final: both are accepted`(value: String) throws {
        #expect(try rules("applePay", data + "/payment/paymentRequest/total/type", value) == [])
    }

    @Test(arguments: [(#""148861""#, true), ("148861", false)])
    func `an attachment's size is a string and a number: it is a string`(value: String, isAccepted: Bool)
        throws
    {
        #expect(try rules("text-attachments", "/attachments/0/size", value).isEmpty == isAccepted)
    }

    @Test func `appName and appIcon are required, samples do without: a warning`() throws {
        for name in ["appName", "appIcon"] {
            #expect(try rules("app", "/interactiveData/" + name, nil) == [.appDescription])
        }
        #expect(MessageRule.appDescription.severity == .warning)
    }

    @Test func `appId is required, only LivePerson's form does without: an error`() throws {
        #expect(try rules("app", "/interactiveData/appId", nil) == [.required])
    }

    @Test(arguments: [#""1471612309""#, "1471612309"])
    func `appId is a string and an integer: both are accepted`(value: String) throws {
        #expect(try rules("app", "/interactiveData/appId", value) == [])
    }

    @Test func `a query with a paragraph sign instead of an ampersand: a warning`() throws {
        let place = data + "/authenticate/oauth2/additionalParameters"
        #expect(try rules("authentication", place, #""parameter1=01¶meter2=02""#) == [.additionalParameters])
    }

    @Test func `a payload reference has two signatures that differ: the Base64 one is required`() throws {
        let reference = try outboundSample("reference").root["interactiveDataRef"]
        #expect(reference?["signature"]?.string?.hasPrefix("81d616c8") == true)
        #expect(try rules("reference", "/interactiveDataRef/signature", nil) == [])
        #expect(try rules("reference", "/interactiveDataRef/signature-base64", nil) == [.required])
    }
}
