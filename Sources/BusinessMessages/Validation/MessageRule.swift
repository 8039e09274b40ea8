/// A rule of Apple's documentation for messages of a business.
///
/// Each case describes a valid message. A problem has the name of the case whose rule the message breaks.
/// ``passage`` names the place in Apple's documentation. Lengths of texts count Unicode scalars unless bytes
/// are mentioned.
public enum MessageRule: String, CaseIterable, Sendable {
    /// The message is JSON.
    case json
    /// The message was fully checked: it has few enough parts, and its check ended within the allowed work.
    ///
    /// A list has at most 1,000 elements, an object 10,000 members, a message 100 attachments and 100,000 values
    /// in all, nested at most 128 deep.
    case fullyChecked
    /// A value has the documented type.
    case type
    /// A required member is present.
    case required
    /// A required text or list is not empty.
    case empty
    /// Every member is documented; an unknown one is usually misspelled.
    case unknownMember
    /// No object has two members of the same name; a reader would use only the last of them.
    case repeatedMember

    /// `type` is allowed for a business; `close` never is.
    case messageType
    /// `v` is 1.
    case protocolVersion
    /// `id` is a UUID.
    case messageIdentifier
    /// `sourceId` is the bare identifier of the business, not `urn:biz:…`.
    case sourceAddress
    /// An invitation goes to `tel:+…`, every other message to the customer's opaque identifier.
    case destinationAddress
    /// A language is written like `en_US`.
    case locale
    /// A message has only the content that belongs to its type: for example, a text has no `interactiveData`.
    case typeContent
    /// Only a quick reply, a list picker, a time picker and a form are `reusable`.
    ///
    /// Sign-ins, payments and invitations are for one customer.
    case reusableContent

    /// The body has one U+FFFC per attachment.
    case attachmentMarkers
    /// An attachment's `size` is a whole number of bytes in a text, at most 100 MB (104,857,600 bytes).
    case attachmentSize
    /// An attachment's key is `00` and 64 hexadecimal digits.
    case attachmentKey
    /// Bytes are written in Base64 with padding.
    case base64
    /// A web address is absolute: `https://…`.
    case webAddress

    /// A text has no web address: a device shows it as "Tap to Load Preview". A rich link shows the page.
    case textLink
    /// A rich link has one of `richLinkData`, `richLinkDataRef` and `preview`.
    case linkContent
    /// A rich link opens `http` or `https`; an app's own scheme does not open.
    case linkScheme
    /// A rich link's image has at most 200 kB.
    case linkImageBytes
    /// A rich link with a video has an image too, which is shown before the video plays.
    case linkVideoImage

    /// An interactive message has either `interactiveData` or `interactiveDataRef`.
    case interactiveContent
    /// `bid` is `com.apple.messages.MSMessageExtensionBalloonPlugin:` with a team and an extension.
    case bid
    /// `version` is 1.0, and for the newer authentication 2.0 or, as in Apple's sample of 2025, 1.0.
    case dataVersion
    /// `version` is 2.0 for the newer authentication.
    case authenticationVersion
    /// `requestIdentifier` is a UUID, as Apple recommends.
    case requestIdentifier
    /// `sessionIdentifier` is a UUID.
    case sessionIdentifier
    /// `data` has exactly one of the members that determine a kind.
    case interactiveKind
    /// A bubble's text has at most 512 characters.
    case bubbleText
    /// A bubble's style is `icon`, `small` or `large`.
    case bubbleStyle
    /// A bubble has only members that the device shows: some work only in iMessage apps, and others only
    /// elsewhere.
    case bubbleMember
    /// `appId`, `appName` and `appIcon` are for iMessage apps only.
    case builtinMember

    /// No two images have the same identifier.
    case imageIdentifiers
    /// An `imageIdentifier` names one of the message's images.
    case imageReference
    /// Every image is used.
    case unusedImage
    /// An image is a PNG or a JPEG file.
    case imageFormat
    /// An image has exactly the number of pixels that the device displays.
    case imagePixels
    /// An image that names its resolution has 72 dpi.
    case imageResolution

    /// A quick reply has two to five items.
    case quickReplyCount
    /// No two items of a quick reply have the same identifier.
    case quickReplyIdentifiers
    /// An item's title is one line.
    case quickReplyLines
    /// A quick reply has no bubbles.
    case quickReplyBubbles

    /// No two items of a list have the same identifier.
    case listItemIdentifiers

    /// The start of a time slot is a date in GMT.
    case startTime
    /// A time slot lasts at least one second.
    case slotDuration
    /// No two time slots have the same identifier.
    case slotIdentifiers
    /// The offset from GMT belongs to an existing time zone: -720 to 840 minutes.
    case timezoneOffset
    /// Latitude is -90 to 90 degrees, longitude -180 to 180.
    case coordinates
    /// A location with a radius has a latitude and a longitude, without which devices ignore the radius.
    case radius

    /// A form's template is `messageForms`.
    case formTemplate
    /// A form's version is 1.1 or 1.2.
    case formVersion
    /// A page's identifier has fewer than 20 characters.
    case pageIdentifier
    /// No two pages have the same identifier.
    case pageIdentifiers
    /// A page is a `select`, `picker`, `datePicker` or `input`.
    case pageType
    /// `startPageIdentifier` names a page.
    case startPage
    /// Every `nextPageIdentifier` names a page.
    case nextPage
    /// Every page can be reached from the first.
    case unreachablePage
    /// No path of pages returns to an earlier page.
    case pageCycle
    /// A page has a question: its `subtitle`.
    case pageQuestion
    /// No two items of a page have the same identifier.
    case pageItemIdentifiers
    /// An item names a next page only where a single item can be chosen.
    case itemNextPage
    /// If one item of a page names a next page, then every item names one, or the page itself does.
    case branchItem
    /// Neither a page with `submitForm` nor an item of such a page names a next page.
    case submitPage
    /// `selectedItemIndex` is the index of an item.
    case selectedItem
    /// `dateFormat` consists of documented parts.
    case dateFormat
    /// A date is valid, in `dateFormat` or as `yyyy-MM-dd`.
    case dateValue
    /// A date is written in `dateFormat`, although Apple's own sample has `yyyy-MM-dd`.
    case dateSpelling
    /// The preselected date is neither before the earliest nor after the latest date.
    case dateOrder
    /// A page whose earliest date is in the future also names a latest date.
    ///
    /// Without one, the latest date would be today, which is before the earliest.
    case dateMaximum
    /// An input is `singleline` or `multiline`.
    case inputType
    /// An input field accepts at least one character.
    case characterCount
    /// A keyboard is one that Apple documents, with or without the prefix `UIKeyboardType`.
    case keyboardType
    /// A content type is one that Apple documents.
    case textContentType
    /// A regular expression is valid; this check may be wrong, because devices use another dialect.
    case regex
    /// `labelText` and `prefixText` belong to single-line fields.
    case singleLineOnly
    /// A splash screen has a button; devices do not show a splash screen without one.
    case splashButton

    /// A merchant session's `initiative` is `messaging`.
    case initiative
    /// A merchant session's `initiativeContext` equals `paymentGatewayUrl`.
    case initiativeContext
    /// A merchant session's `expiresAt` is after its `epochTimestamp`.
    case sessionExpiry
    /// A merchant session's `displayName` has at most 64 bytes.
    case displayName
    /// A merchant capability is one that Apple documents.
    case merchantCapability
    /// The merchant's capabilities include `supports3DS`.
    case threeDSecure
    /// A payment network is one that Apple documents.
    case paymentNetwork
    /// A country is two letters of ISO 3166.
    case countryCode
    /// A currency is three letters of ISO 4217.
    case currencyCode
    /// An amount is a decimal number in a string.
    case money
    /// An amount has no more decimals than its currency.
    case moneyDecimals
    /// The total is more than zero.
    case total
    /// Shipping costs zero or more.
    case shippingAmount
    /// The type of a line item is `final` or `pending`.
    case lineItemType
    /// A contact field is one that Apple documents.
    case contactField
    /// No two shipping methods have the same identifier.
    case shippingIdentifiers
    /// Shipping methods require `shippingMethodUpdateUrl`.
    case shippingUpdate
    /// A payment's bubble is large.
    case paymentStyle
    /// A payment request has no member that only the server sets, such as `merchantSession` or `endpoints`.
    case paymentMember
    /// The amounts of a payment request fit its currency, and the line items sum to the total unless one is
    /// pending.
    case paymentSum

    /// The `responseType` of an authentication request is `code`.
    case responseType
    /// An authentication request has the members of version 1 (key and secret) or of version 2 (redirect address).
    case authenticationProcedure
    /// An encryption key is the uncompressed point of a P-384 key: 97 bytes in Base64.
    case encryptionKey
    /// A redirect address is `https`, in printable ASCII, with at most 8,192 bytes.
    case redirectAddress
    /// The additional parameters of an authentication request have the form of a query: `a=1&b=2`.
    case additionalParameters
    /// A sign-in request has no member that only the server sets, such as `state` or `requestIdentifier`.
    case signInMember
    /// The parameters of a sign-in request are a query of at most 2,048 bytes, without parameters of the
    /// protocol.
    case signInParameters

    /// An iMessage app's message has no `data`.
    case appData
    /// An iMessage app's `URL` has at most 64 KB.
    case appURL
    /// An iMessage app has a name and an icon, for devices that have not installed it.
    case appDescription
    /// An iMessage app's icon has less than 15 KB.
    case appIconBytes

    /// An invitation with a `noImage` template has no logo, and one with a `withImage` template has one.
    case invitationLogo
    /// An invitation's template is `binaryChoice`, a purpose, and `withImage` or `noImage`.
    case invitationTemplate
    /// An invitation's reference has at most 1,000 characters and no apostrophe.
    case invitationReference
    /// An invitation names its language.
    case invitationLocale

    /// LivePerson's metadata is of the type `BusinessChatCustomMessage`.
    case livePersonType
    /// An image in LivePerson's metadata comes from an allowed host.
    case livePersonImage

    /// The customer's device has the capability that the message needs.
    case capability
}
