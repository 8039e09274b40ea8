import BalloonJSON
import BusinessMessages
import Testing

/// A case for one rule: a change to a fixture that the rule still accepts, and one that it does not.
struct RuleCase: Sendable, CustomTestStringConvertible {
    let rule: MessageRule
    /// The name of the fixture, and the place at which a value is changed.
    let fixture: String
    let pointer: String
    /// A value that satisfies the rule, and a value that violates it; `nil` removes the member.
    let sound: String?
    let broken: String?
    /// The place that the problem must have; by default the place of the change.
    let place: String

    init(
        _ rule: MessageRule, _ fixture: String, _ pointer: String, sound: String?, broken: String?,
        at place: String? = nil
    ) {
        self.rule = rule
        self.fixture = fixture
        self.pointer = pointer
        self.sound = sound
        self.broken = broken
        self.place = place ?? pointer
    }

    var testDescription: String { "\(rule) of \(fixture)\(pointer)" }
}

private func quoted(_ count: Int, of text: String = "a") -> String {
    "\"" + String(repeating: text, count: count) + "\""
}

private let data = "/interactiveData/data"
private let pages = data + "/dynamic/data/pages"
private let payment = data + "/payment"
private let oauth2 = data + "/authenticate/oauth2"

/// The start of a PNG file with this resolution, in Base64 as a JSON string.
private func png(dotsPerMetre: UInt32) -> String {
    func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        [0, 0, 0, UInt8(data.count)] + Array(name.utf8) + data + [0, 0, 0, 0]
    }
    let dots = (0..<4).map { UInt8(truncatingIfNeeded: dotsPerMetre >> (24 - 8 * $0)) }
    let bytes =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        + chunk("IHDR", [0, 0, 0, 180, 0, 0, 0, 180, 8, 0, 0, 0, 0]) + chunk("pHYs", dots + dots + [1])
    return "\"" + Base64.encode(bytes) + "\""
}

private func items(_ count: Int) -> String {
    "[" + (0..<count).map { #"{"identifier":"\#($0)","title":"T"}"# }.joined(separator: ",") + "]"
}

/// The Base64 text of this many zero bytes.
private func zeros(_ count: Int) -> String {
    let padding = ["", "AA==", "AAA="][count % 3]
    return "\"" + String(repeating: "AAAA", count: count / 3) + padding + "\""
}

let envelopeCases = [
    RuleCase(.type, "text", "/body", sound: #""a""#, broken: "7"),
    RuleCase(.required, "text", "/body", sound: #""a""#, broken: nil),
    RuleCase(.empty, "text", "/body", sound: #""a""#, broken: #""""#),
    RuleCase(.messageType, "typingEnd", "/type", sound: #""typing_start""#, broken: #""close""#),
    RuleCase(.protocolVersion, "text", "/v", sound: "1.0", broken: "2"),
    RuleCase(
        .messageIdentifier, "text", "/id", sound: #""0C316BEB-6b7a-4d2f-9e55-1a2b3c4d5e6f""#,
        broken: #""0c316beb-6b7a-4d2f-9e55-1a2b3c4d5e6""#),
    RuleCase(.sourceAddress, "text", "/sourceId", sound: #""b""#, broken: #""urn:biz:b""#),
    RuleCase(.destinationAddress, "invitation", "/destinationId", sound: #""tel:+1""#, broken: #""tel:1""#),
    RuleCase(.destinationAddress, "text", "/destinationId", sound: #""urn:mbid:a""#, broken: #""tel:+1""#),
    RuleCase(.destinationAddress, "listPicker", "/destinationId", sound: #""a""#, broken: #""urn:biz:a""#),
    RuleCase(.type, "text", "/locale", sound: "null", broken: "7"),
    RuleCase(.locale, "text", "/locale", sound: #""zh-Hans_CN""#, broken: #""zh-Hans_""#),
    RuleCase(.locale, "text", "/locale", sound: #""deu""#, broken: #""germ""#),
    RuleCase(.locale, "text", "/locale", sound: #""en_u""#, broken: #""e""#),
    RuleCase(.locale, "text", "/locale", sound: #""en_abcdefgh""#, broken: #""en_abcdefghi""#),
    RuleCase(.typeContent, "text", "/interactiveData", sound: nil, broken: "{}"),
    RuleCase(.typeContent, "text", "/richLinkDataRef", sound: nil, broken: "{}"),
    RuleCase(.typeContent, "text", "/preview", sound: nil, broken: "{}"),
    RuleCase(.type, "richLink-preview", "/preview/storeRegion", sound: #""us""#, broken: #""USA""#),
    RuleCase(.required, "richLink-preview", "/preview/url", sound: #""https://a""#, broken: nil),
    RuleCase(
        .linkContent, "richLink-preview", "/richLinkData", sound: nil,
        broken: #"{"url":"https://a","title":"T"}"#, at: ""),
    RuleCase(.reusableContent, "applePay", "/reusable", sound: "false", broken: "true"),
    RuleCase(.typeContent, "quickReply", "/body", sound: nil, broken: #""a""#),
    RuleCase(.typeContent, "quickReply", "/richLinkData", sound: nil, broken: #""a""#),
    RuleCase(.typeContent, "richLink", "/interactiveDataRef", sound: nil, broken: "{}"),
    RuleCase(.typeContent, "typingStart", "/body", sound: nil, broken: #""a""#),
    RuleCase(.typeContent, "typingEnd", "/attachments", sound: nil, broken: "[]"),
    RuleCase(.attachmentMarkers, "text", "/body", sound: #""a""#, broken: #""\uFFFC""#),
    RuleCase(
        .attachmentMarkers, "text-attachments", "/body", sound: "\"\u{FFFC}\u{FFFC}\"", broken: "\"\u{FFFC}\""
    ),
    RuleCase(
        .attachmentSize, "text-attachments", "/attachments/0/size", sound: #""104857600""#,
        broken: #""104857601""#),
    RuleCase(.attachmentSize, "text-attachments", "/attachments/0/size", sound: #""0""#, broken: #""12a""#),
    RuleCase(.type, "text-attachments", "/attachments/0/size", sound: #""148861""#, broken: "148861"),
    RuleCase(
        .attachmentKey, "text-attachments", "/attachments/1/key",
        sound: "\"00\(String(repeating: "a", count: 64))\"",
        broken: "\"00\(String(repeating: "a", count: 65))\""),
    RuleCase(
        .base64, "text-attachments", "/attachments/0/signature-base64", sound: #""AAAA""#, broken: #""AAA""#),
    RuleCase(
        .webAddress, "text-attachments", "/attachments/0/url", sound: #""https://a""#, broken: #""https://""#),
    RuleCase(
        .webAddress, "text-attachments", "/attachments/0/url", sound: #""https://a:443/""#,
        broken: #""https://:443/""#),
    RuleCase(
        .linkContent, "richLink", "/richLinkDataRef", sound: nil,
        broken: #"{"url":"https://a","owner":"o","size":1,"signature-base64":"AAAA"}"#, at: ""),
    RuleCase(
        .linkContent, "richLink", "/richLinkData", sound: #"{"url":"https://a","title":"T"}"#, broken: nil,
        at: ""),
    RuleCase(
        .textLink, "text", "/body", sound: #""See a.b and c@www.d.example""#,
        broken: #""See https://a.example""#),
    RuleCase(.linkScheme, "richLink", "/richLinkData/url", sound: #""http://a""#, broken: #""myapp://a""#),
    RuleCase(
        .linkImageBytes, "richLink", "/richLinkData/assets/image/data", sound: zeros(200_000),
        broken: zeros(200_001)),
    RuleCase(
        .linkVideoImage, "richLink-video", "/richLinkData/assets/image",
        sound: #"{"data":"AAAA","mimeType":"image/png"}"#, broken: nil),
]

let interactiveCases = [
    RuleCase(
        .interactiveContent, "quickReply", "/interactiveDataRef", sound: nil,
        broken:
            #"{"bid":"com.apple.messages.MSMessageExtensionBalloonPlugin:a:b","url":"https://a","owner":"o","#
            + #""size":"1","signature-base64":"AAAA"}"#, at: ""),
    RuleCase(
        .bid, "app", "/interactiveData/bid",
        sound: #""com.apple.messages.MSMessageExtensionBalloonPlugin:TEAM:app""#,
        broken: #""com.apple.messages.MSMessageExtensionBalloonPlugin:TEAM:""#),
    RuleCase(.dataVersion, "listPicker", data + "/version", sound: #""1.0""#, broken: #""2.0""#),
    RuleCase(.dataVersion, "listPicker", data + "/mspVersion", sound: #""1.0""#, broken: #""1.1""#),
    RuleCase(.dataVersion, "authentication", data + "/version", sound: #""2.0""#, broken: #""3.0""#),
    RuleCase(
        .authenticationVersion, "authentication", data + "/version", sound: #""2.0""#, broken: #""1.0""#),
    RuleCase(.dataVersion, "authentication-classic", data + "/version", sound: #""1.0""#, broken: #""2.0""#),
    RuleCase(
        .requestIdentifier, "listPicker", data + "/requestIdentifier",
        sound: #""00000000-0000-0000-0000-000000000000""#, broken: #""0000000-0000-0000-0000-0000000000000""#),
    RuleCase(
        .sessionIdentifier, "listPicker", "/interactiveData/sessionIdentifier",
        sound: #""00000000-0000-0000-0000-000000000000""#, broken: #""uuid-for-this-interaction""#),
    RuleCase(.interactiveKind, "quickReply", data + "/quick-reply", sound: #"{}"#, broken: nil, at: data),
    RuleCase(
        .interactiveKind, "quickReply", data + "/notification", sound: nil, broken: #"{}"#, at: data),
    RuleCase(
        .bubbleText, "listPicker", "/interactiveData/receivedMessage/title", sound: quoted(512, of: "😀"),
        broken: quoted(513, of: "😀")),
    RuleCase(
        .bubbleText, "app", "/interactiveData/receivedMessage/tertiarySubtitle", sound: quoted(512),
        broken: quoted(513)),
    RuleCase(
        .bubbleStyle, "listPicker", "/interactiveData/replyMessage/style", sound: #""icon""#,
        broken: #""medium""#),
    RuleCase(
        .bubbleMember, "listPicker", "/interactiveData/replyMessage/imageTitle", sound: nil, broken: #""a""#),
    RuleCase(
        .bubbleMember, "app", "/interactiveData/receivedMessage/style", sound: nil, broken: #""icon""#),
    RuleCase(.builtinMember, "listPicker", "/interactiveData/appId", sound: nil, broken: "7"),
    RuleCase(
        .imageIdentifiers, "listPicker", data + "/images/1/identifier", sound: #""apple""#,
        broken: #""basket""#),
    RuleCase(
        .imageReference, "listPicker", data + "/listPicker/sections/0/items/0/imageIdentifier",
        sound: #""basket""#, broken: #""plum""#),
    RuleCase(
        .imageReference, "listPicker", data + "/listPicker/sections/0/items/1/imageIdentifier", sound: nil,
        broken: #""""#),
    RuleCase(
        .unusedImage, "listPicker", data + "/listPicker/sections/0/items/0/imageIdentifier",
        sound: #""apple""#, broken: #""basket""#, at: data + "/images/1/identifier"),
    RuleCase(
        .imageFormat, "form", data + "/images/1/data", sound: "\"/9j/wAAIAAECAQMBAA==\"",
        broken: "\"R0lGODlh\""),
    RuleCase(
        .imageResolution, "form", data + "/images/1/data", sound: png(dotsPerMetre: 2834),
        broken: png(dotsPerMetre: 8504)),
    RuleCase(
        .imageResolution, "form", data + "/images/1/data", sound: png(dotsPerMetre: 2854),
        broken: png(dotsPerMetre: 2855)),
    RuleCase(
        .imagePixels, "applePay", "/interactiveData/receivedMessage/style", sound: #""large""#,
        broken: #""small""#, at: data + "/images/0/data"),
    RuleCase(
        .quickReplyCount, "quickReply", data + "/quick-reply/items", sound: items(2), broken: items(1)),
    RuleCase(
        .quickReplyCount, "quickReply", data + "/quick-reply/items", sound: items(5), broken: items(6)),
    RuleCase(
        .quickReplyIdentifiers, "quickReply", data + "/quick-reply/items/1/identifier", sound: #""Yes""#,
        broken: #""yes""#),
    RuleCase(
        .quickReplyLines, "quickReply", data + "/quick-reply/items/1/title", sound: #""a b""#,
        broken: #""a\nb""#),
    RuleCase(.empty, "quickReply", data + "/quick-reply/items/1/title", sound: #"" a""#, broken: #"" \t""#),
    RuleCase(
        .quickReplyBubbles, "quickReply", "/interactiveData/receivedMessage", sound: nil,
        broken: #"{"title":"a"}"#),
    RuleCase(
        .listItemIdentifiers, "listPicker", data + "/listPicker/sections/1/items/0/identifier",
        sound: #""rye""#, broken: #""apple""#),
    RuleCase(
        .startTime, "timePicker", data + "/event/timeslots/0/startTime", sound: #""2026-02-28T23:59Z""#,
        broken: #""2026-02-29T23:59Z""#),
    RuleCase(
        .startTime, "timePicker", data + "/event/timeslots/0/startTime",
        sound: #""2017-05-26T08:27:55+00:00""#, broken: #""2017-05-26T08:27:55+01:00""#),
    RuleCase(.slotDuration, "timePicker", data + "/event/timeslots/1/duration", sound: "1", broken: "0"),
    RuleCase(
        .slotIdentifiers, "timePicker", data + "/event/timeslots/1/identifier", sound: #""01""#,
        broken: #""0""#),
    RuleCase(.timezoneOffset, "timePicker", data + "/event/timezoneOffset", sound: "840", broken: "841"),
    RuleCase(.timezoneOffset, "timePicker", data + "/event/timezoneOffset", sound: "-720", broken: "-721"),
    RuleCase(.coordinates, "timePicker", data + "/event/location/latitude", sound: "-90", broken: "-90.1"),
    RuleCase(.coordinates, "timePicker", data + "/event/location/longitude", sound: "180", broken: "181"),
    RuleCase(
        .radius, "timePicker", data + "/event/location/latitude", sound: "1", broken: nil,
        at: data + "/event/location/radius"),
]

let formCases = [
    RuleCase(
        .formTemplate, "form", data + "/dynamic/template", sound: #""messageForms""#, broken: #""forms""#),
    RuleCase(.formVersion, "form", data + "/dynamic/version", sound: #""1.2""#, broken: #""1.3""#),
    RuleCase(
        .pageIdentifier, "form-options", pages + "/0/pageIdentifier", sound: quoted(19), broken: quoted(20)),
    RuleCase(
        .pageIdentifiers, "form", pages + "/6/pageIdentifier", sound: #""7""#, broken: #""0""#),
    RuleCase(.pageType, "form", pages + "/4/type", sound: #""input""#, broken: #""date""#),
    RuleCase(
        .startPage, "form", data + "/dynamic/data/startPageIdentifier", sound: #""1""#, broken: #""7""#),
    RuleCase(.nextPage, "form", pages + "/3/nextPageIdentifier", sound: #""5""#, broken: #""7""#),
    RuleCase(
        .nextPage, "form", pages + "/1/items/0/nextPageIdentifier", sound: #""5""#, broken: #""7""#),
    RuleCase(
        .unreachablePage, "form-options", pages + "/1/nextPageIdentifier", sound: #""where""#,
        broken: #""how""#, at: pages + "/2/pageIdentifier"),
    RuleCase(
        .pageCycle, "form-options", pages + "/3/nextPageIdentifier", sound: nil, broken: #""day""#,
        at: pages + "/1/pageIdentifier"),
    RuleCase(
        .pageCycle, "form-options", pages + "/3/items/0/nextPageIdentifier", sound: nil, broken: #""how""#,
        at: pages + "/3/pageIdentifier"),
    RuleCase(.pageQuestion, "form", pages + "/5/subtitle", sound: #""?""#, broken: nil),
    RuleCase(
        .pageItemIdentifiers, "form", pages + "/2/items/1/identifier", sound: #""203""#, broken: #""201""#),
    RuleCase(
        .itemNextPage, "form", pages + "/0/items/5/nextPageIdentifier", sound: nil, broken: #""2""#),
    RuleCase(
        .branchItem, "form", pages + "/1/items/0/nextPageIdentifier", sound: #""2""#, broken: nil),
    RuleCase(
        .submitPage, "form", pages + "/5/submitForm", sound: "false", broken: "true",
        at: pages + "/5/nextPageIdentifier"),
    RuleCase(
        .submitPage, "form-options", pages + "/3/items/0/nextPageIdentifier", sound: #""""#,
        broken: #""day""#),
    RuleCase(.type, "form", pages + "/5/options", sound: "null", broken: "7"),
    RuleCase(.type, "form-options", pages + "/1/options", sound: "null", broken: "7"),
    // Today is 2026-07-10 at the latest.
    RuleCase(
        .dateMaximum, "form-options", pages + "/1/options",
        sound: #"{"dateFormat":"dd.MM.yyyy","minimumDate":"10.07.2026"}"#,
        broken: #"{"dateFormat":"dd.MM.yyyy","minimumDate":"11.07.2026"}"#,
        at: pages + "/1/options/minimumDate"),
    RuleCase(
        .dateMaximum, "form-options", pages + "/1/options",
        sound: #"{"minimumDate":"07/11/2026","maximumDate":"07/11/2026"}"#,
        broken: #"{"minimumDate":"07/11/2026","maximumDate":""}"#, at: pages + "/1/options/minimumDate"),
    RuleCase(.selectedItem, "form-options", pages + "/2/selectedItemIndex", sound: "1", broken: "2"),
    RuleCase(
        .dateFormat, "form-options", pages + "/1/options/dateFormat", sound: #""dd.MM.yyyy""#,
        broken: #""dd. MMM yyyy""#),
    RuleCase(
        .dateValue, "form-options", pages + "/1/options/startDate", sound: #""28.02.2026""#,
        broken: #""29.02.2026""#),
    RuleCase(
        .dateSpelling, "form-options", pages + "/1/options/startDate", sound: #""10.07.2026""#,
        broken: #""2026-07-10""#),
    RuleCase(
        .dateOrder, "form-options", pages + "/1/options/maximumDate", sound: #""10.07.2026""#,
        broken: #""09.07.2026""#),
    RuleCase(
        .inputType, "form", pages + "/5/options/inputType", sound: #""singleline""#, broken: #""single""#),
    RuleCase(
        .characterCount, "form", pages + "/5/options/maximumCharacterCount", sound: "1", broken: "0"),
    RuleCase(
        .keyboardType, "form", pages + "/5/options/keyboardType", sound: #""UIKeyboardTypeEmailAddress""#,
        broken: #""EmailAddress""#),
    RuleCase(
        .keyboardType, "form", pages + "/5/options/keyboardType", sound: #""UIKeyboardTypeASCIICapable""#,
        broken: #""UIKeyboardTypeAsciiCapable""#),
    RuleCase(
        .textContentType, "form-options", pages + "/0/options/textContentType", sound: #""oneTimeCode""#,
        broken: #""otp""#),
    RuleCase(
        .regex, "form-options", pages + "/0/options/regex", sound: #""^\\d{1,5}$""#, broken: #""(\\d""#),
    RuleCase(
        .singleLineOnly, "form", pages + "/5/options/prefixText", sound: #""""#, broken: #""$""#),
    RuleCase(
        .splashButton, "form", data + "/dynamic/data/splash/buttonTitle", sound: #""Go""#, broken: #""""#),
]

let paymentCases = [
    RuleCase(
        .initiative, "applePay", payment + "/merchantSession/initiative", sound: #""messaging""#,
        broken: #""web""#),
    RuleCase(
        .initiativeContext, "applePay", payment + "/merchantSession/initiativeContext",
        sound: #""https://sams.example.com/paymentGateway/""#,
        broken: #""https://sams.example.com/paymentGateway""#),
    RuleCase(
        .sessionExpiry, "applePay", payment + "/merchantSession/expiresAt", sound: "1525722894058",
        broken: "1525722894057"),
    RuleCase(
        .displayName, "applePay", payment + "/merchantSession/displayName", sound: quoted(32, of: "ü"),
        broken: "\"" + String(repeating: "ü", count: 32) + "a\""),
    RuleCase(
        .merchantCapability, "applePay", payment + "/paymentRequest/applePay/merchantCapabilities/1",
        sound: #""supportsEMV""#, broken: #""supportsemv""#),
    RuleCase(
        .threeDSecure, "applePay", payment + "/paymentRequest/applePay/merchantCapabilities",
        sound: #"["supports3DS"]"#, broken: #"["supportsCredit"]"#),
    RuleCase(
        .paymentNetwork, "applePay", payment + "/paymentRequest/applePay/supportedNetworks/0",
        sound: #""jcb""#, broken: #""mastercard""#),
    RuleCase(
        .countryCode, "applePay", payment + "/paymentRequest/countryCode", sound: #""AQ""#, broken: #""us""#),
    RuleCase(
        .countryCode, "applePay", payment + "/paymentRequest/supportedCountries", sound: #"["DE"]"#,
        broken: #"["DE","UK"]"#, at: payment + "/paymentRequest/supportedCountries/1"),
    RuleCase(
        .currencyCode, "applePay", payment + "/paymentRequest/currencyCode", sound: #""EUR""#,
        broken: #""EURO""#),
    RuleCase(
        .money, "applePay", payment + "/paymentRequest/lineItems/0/amount", sound: #""-5""#,
        broken: #""5,00""#),
    RuleCase(
        .moneyDecimals, "applePay", payment + "/paymentRequest/total/amount", sound: #""0.01""#,
        broken: #""0.010""#),
    RuleCase(
        .total, "applePay", payment + "/paymentRequest/total/amount", sound: #""0.01""#, broken: #""0.00""#),
    RuleCase(
        .shippingAmount, "applePay", payment + "/paymentRequest/shippingMethods/0/amount", sound: #""-0.00""#,
        broken: #""-0.01""#),
    RuleCase(
        .lineItemType, "applePay", payment + "/paymentRequest/total/type", sound: #""Pending""#,
        broken: #""done""#),
    RuleCase(
        .contactField, "applePay", payment + "/paymentRequest/requiredBillingContactFields/0",
        sound: #""email""#, broken: #""postalAddress""#),
    RuleCase(
        .shippingIdentifiers, "applePay", payment + "/paymentRequest/shippingMethods/1/identifier",
        sound: #""a""#, broken: #""in_store_pickup""#),
    RuleCase(
        .shippingUpdate, "applePay", payment + "/endpoints/shippingMethodUpdateUrl", sound: #""https://a/b""#,
        broken: nil, at: payment + "/paymentRequest/shippingMethods"),
    RuleCase(
        .paymentStyle, "applePay", "/interactiveData/receivedMessage/style", sound: #""large""#,
        broken: #""icon""#),
    RuleCase(.empty, "applePay", payment + "/paymentRequest/lineItems", sound: nil, broken: "[]"),
]

let otherCases = [
    RuleCase(
        .responseType, "authentication", oauth2 + "/responseType", sound: #""code""#, broken: #""token""#),
    RuleCase(
        .authenticationProcedure, "authentication", oauth2 + "/redirectURI", sound: #""https://a""#,
        broken: nil, at: oauth2),
    RuleCase(
        .authenticationProcedure, "authentication-classic", oauth2 + "/redirectURI", sound: nil,
        broken: #""https://a""#, at: oauth2),
    RuleCase(
        .authenticationProcedure, "authentication-classic", oauth2 + "/clientSecret", sound: #""s""#,
        broken: nil, at: oauth2),
    RuleCase(
        .encryptionKey, "authentication-classic", oauth2 + "/responseEncryptionKey",
        sound: "\"BA" + String(repeating: "A", count: 128) + "==\"",
        broken: "\"BA" + String(repeating: "A", count: 130) + "\""),
    RuleCase(
        .encryptionKey, "authentication-classic", oauth2 + "/responseEncryptionKey",
        sound: "\"BA" + String(repeating: "A", count: 128) + "==\"",
        broken: "\"AA" + String(repeating: "A", count: 128) + "==\""),
    RuleCase(
        .redirectAddress, "authentication", oauth2 + "/redirectURI",
        sound: "\"https://" + String(repeating: "a", count: 8184) + "\"",
        broken: "\"https://" + String(repeating: "a", count: 8185) + "\""),
    RuleCase(
        .additionalParameters, "authentication", oauth2 + "/additionalParameters",
        sound: #""parameter1=01&parameter2=02""#, broken: #""parameter1=01¶meter2=02""#),
    RuleCase(.appData, "app", data, sound: nil, broken: "{}"),
    RuleCase(
        .appURL, "app", "/interactiveData/URL", sound: quoted(65536), broken: quoted(65537)),
    RuleCase(.required, "app", "/interactiveData/appId", sound: "7", broken: nil),
    RuleCase(.empty, "authentication", oauth2 + "/scope", sound: #"["a"]"#, broken: "[]"),
    RuleCase(.appDescription, "app", "/interactiveData/appIcon", sound: #""AAAA""#, broken: nil),
    RuleCase(
        .appIconBytes, "app", "/interactiveData/appIcon", sound: zeros(14_999), broken: zeros(15_000)),
    RuleCase(
        .invitationLogo, "invitation", data + "/notification/parameters/brandLogo", sound: nil,
        broken: #""AAAA""#),
    RuleCase(
        .invitationLogo, "invitation-image", data + "/notification/parameters/brandLogo", sound: #""AAAA""#,
        broken: nil),
    RuleCase(
        .invitationLogo, "invitation-image", data + "/notification/parameters/brandLogo", sound: #""AAAA""#,
        broken: #""""#),
    RuleCase(
        .invitationTemplate, "invitation", data + "/notification/templateId",
        sound: #""binaryChoice.welcome.noImage""#, broken: #""binaryChoice.engage""#),
    RuleCase(
        .invitationReference, "invitation", data + "/notification/referenceId", sound: quoted(1000, of: "ü"),
        broken: quoted(1001, of: "ü")),
    RuleCase(
        .invitationReference, "invitation", data + "/notification/referenceId", sound: #""a’b""#,
        broken: #""a'b""#),
    RuleCase(
        .invitationLocale, "invitation", data + "/notification/locale", sound: #""en-us""#, broken: nil),
    RuleCase(.unknownMember, "quickReply", data + "/quickReply", sound: nil, broken: "{}"),
]

let ruleCases = envelopeCases + interactiveCases + formCases + paymentCases + otherCases
