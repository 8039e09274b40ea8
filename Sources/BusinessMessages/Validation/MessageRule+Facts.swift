extension MessageRule {
    /// The consequence for a message that breaks the rule.
    public var severity: MessageProblem.Severity {
        switch self {
        case .authenticationVersion, .unknownMember, .repeatedMember, .sourceAddress, .attachmentMarkers,
            .linkScheme, .textLink, .linkImageBytes, .linkVideoImage, .requestIdentifier, .sessionIdentifier,
            .bubbleMember, .builtinMember, .imageReference, .unusedImage, .imageFormat, .imagePixels,
            .imageResolution, .invitationLocale, .quickReplyLines, .quickReplyBubbles, .timezoneOffset,
            .coordinates, .radius, .formVersion, .unreachablePage, .pageCycle, .pageQuestion, .itemNextPage,
            .selectedItem, .dateFormat, .dateSpelling, .dateOrder, .regex, .singleLineOnly, .splashButton,
            .paymentNetwork, .moneyDecimals, .shippingUpdate, .paymentStyle, .additionalParameters,
            .appDescription, .appIconBytes:
            .warning
        default: .error
        }
    }

    /// The passage of a specification that contains the rule.
    ///
    /// Nil for a rule that is in Apple's documentation of the object with the problem.
    public var passage: String? {
        switch self {
        case .json: "RFC 8259"
        case .fullyChecked: "Balloon, \"MessageRule.fullyChecked\""
        case .repeatedMember: "RFC 8259 §4"
        case .type, .required, .empty, .unknownMember: nil
        case .messageType, .protocolVersion, .messageIdentifier, .sourceAddress, .locale, .typeContent:
            "Apple MSP API, \"Common Specifications\""
        case .destinationAddress, .invitationLogo, .invitationTemplate, .invitationReference,
            .invitationLocale:
            "Apple MSP API, invitations"
        case .attachmentMarkers: "Apple MSP API, \"Text\""
        case .attachmentSize, .attachmentKey: "Apple MSP API, \"Sending Messages with Attachments\""
        case .base64: "RFC 4648 §4"
        case .webAddress: "RFC 3986 §4.3"
        case .textLink: "Apple MSP API, \"Required Features\""
        case .linkContent, .linkScheme, .linkImageBytes, .linkVideoImage: "Apple MSP API, \"Rich Links\""
        case .interactiveContent: "Apple MSP API, \"Sending Interactive Messages\""
        case .bid: "Apple MSP API, \"BaseInteractiveMessage Dictionary\""
        case .dataVersion, .authenticationVersion, .requestIdentifier, .interactiveKind:
            "Apple MSP API, \"InteractiveMessageData Dictionary\""
        case .sessionIdentifier: "Apple MSP API, \"Sending Interactive Messages\""
        case .bubbleText, .bubbleMember: "Apple MSP API, \"InteractiveResponse Dictionary\""
        case .bubbleStyle, .imagePixels: "Apple MSP API, \"ReceivedMessage Dictionary\""
        case .imageIdentifiers, .imageReference, .unusedImage, .imageFormat, .imageResolution:
            "Apple MSP API, \"ImageItem Dictionary\""
        case .quickReplyCount, .quickReplyIdentifiers, .quickReplyLines, .quickReplyBubbles:
            "Apple MSP API, \"Quick Reply Message\""
        case .listItemIdentifiers: "Apple MSP API, \"ListPickerSection.ListPickerItem Dictionary\""
        case .startTime, .slotDuration, .slotIdentifiers: "Apple MSP API, \"Location.TimeItem Dictionary\""
        case .timezoneOffset: "Apple MSP API, \"Data.Event Dictionary\""
        case .coordinates, .radius: "Apple MSP API, \"EventItem.LocationItem Dictionary\""
        case .formTemplate, .formVersion: "Apple MSP API, \"Form Message\", request payload"
        case .pageIdentifier, .pageIdentifiers, .pageType, .startPage, .nextPage, .unreachablePage,
            .pageCycle, .pageQuestion, .splashButton, .submitPage:
            "Apple MSP API, \"Data Dictionary Objects\""
        case .pageItemIdentifiers, .itemNextPage, .branchItem, .selectedItem, .dateFormat, .dateValue,
            .dateSpelling, .dateOrder, .dateMaximum, .inputType, .characterCount, .keyboardType,
            .textContentType, .regex, .singleLineOnly:
            "Apple MSP API, \"Types of Pages\""
        case .initiative, .displayName, .sessionExpiry:
            "Apple MSP API, \"Payment.MerchantSession Dictionary\""
        case .initiativeContext: "Apple MSP API, \"Payment.ApplePayEndpoints Dictionary\""
        case .merchantCapability, .threeDSecure, .paymentNetwork: "Apple MSP API, \"ApplePayItem Dictionary\""
        case .countryCode, .currencyCode, .total: "Apple MSP API, \"ApplePayPaymentRequest Dictionary\""
        case .money, .lineItemType: "Apple MSP API, \"ApplePay.lineItems Dictionary\""
        case .moneyDecimals: "ISO 4217"
        case .shippingAmount, .shippingIdentifiers:
            "Apple MSP API, \"PaymentRequest.shippingMethodItem Dictionary\""
        case .contactField: "Apple MSP API, \"PaymentRequest.requiredBillingContactFields Dictionary\""
        case .shippingUpdate: "Apple MSP API, \"Updating Shipping Methods\""
        case .paymentStyle: "Apple MSP API, \"ReceivedMessage Dictionary\""
        case .paymentMember, .paymentSum: "Balloon, \"PaymentRequest\""
        case .responseType, .redirectAddress: "Apple MSP API, \"Data.Authenticate.Oauth2 Dictionary\""
        case .authenticationProcedure: "Apple MSP API, \"Authentication Message\""
        case .encryptionKey: "Apple MSP API, \"Sending an Authentication Message\""
        case .additionalParameters: "Apple MSP API, \"Additional Parameters\""
        case .signInMember, .signInParameters: "Balloon, \"SignInRequest\""
        case .appData: "Apple MSP API, \"InteractiveMessageData Dictionary\""
        case .appURL, .appDescription, .appIconBytes, .builtinMember: "Apple MSP API, \"iMessage App\""
        case .reusableContent: "Balloon, \"Send the same content to many customers\""
        case .livePersonType: "LivePerson, \"Custom iMessage App Metadata Properties\""
        case .livePersonImage: "LivePerson, \"messaging.rich.content.valid.urls\""
        case .capability: "Apple MSP API, \"HTTP Headers\", capability-list"
        }
    }
}
