import BalloonJSON
import BusinessMessages
import TestSupport

/// The names of all outbound fixtures, without `.json`.
let outboundNames = Fixture.names(in: "outbound").map { String($0.dropLast(".json".count)) }.sorted()

/// Reads the outbound fixture with this name, for example `text`.
func outboundSample(_ name: String) throws -> JSONDocument {
    try JSONDocument(Fixture.bytes("outbound/\(name).json"))
}

/// Reads the fixture image of this size, for example `120x120`.
func image(_ size: String) -> [UInt8] { Fixture.bytes("images/\(size).png") }

/// The messages of the outbound fixtures, built from typed values only.
let outboundMessages: [(name: String, message: OutboundMessage)] = [
    ("app", appMessage), ("applePay", applePayMessage), ("authentication", authenticationMessage),
    ("authentication-classic", classicAuthenticationMessage), ("form", formMessage),
    ("form-options", optionsMessage),
    ("invitation", invitationMessage(logo: nil)),
    ("invitation-image", invitationMessage(logo: "iVBORw0KGgo=")),
    ("listPicker", listPickerMessage), ("quickReply", quickReplyMessage), ("reference", referenceMessage),
    ("richLink", .richLink(link)),
    (
        "richLink-preview",
        .richLink(
            RichLink("https://appclip.example.com/repairs", title: "Repairs", image: nil).fetched(
                storeRegion: "de"))
    ), ("richLink-reference", linkReferenceMessage),
    ("richLink-video", .richLink(video)), ("text", .text("Grüße, your repair is done. Shall we send it? 🛠️")),
    ("text-attachments", attachmentsMessage), ("timePicker", timePickerMessage), ("typingEnd", .typingEnd),
    ("typingStart", .typingStart),
]

private let attachmentURL = "https://p29-content.icloud.com/MY5733969D858549138ABDEAD466D0FB95.C01USN00"

private func attachment(_ name: String, _ mimeType: String, sizeBytes: Int) -> OutboundAttachment {
    OutboundAttachment(
        name: name, mimeType: mimeType, sizeBytes: sizeBytes, signatureBase64: "gT6/RKaWd6peyoc0YJbtTDc7AhSk",
        url: attachmentURL, owner: "MY5733969D858549138ABDEAD466D0FB95.C01USN00",
        key: "00" + String(repeating: "AB", count: 32))
}

private let attachmentsMessage = OutboundMessage.text(
    "Offer \u{FFFC} and photograph ",
    attachments: [
        attachment("offer.pdf", "application/pdf", sizeBytes: 148_861),
        attachment("wheel.png", "image/png", sizeBytes: 2048),
    ]
).labelled(locale: "en_US", intent: "repair", group: "workshop")

private let linkImage = RichLink.Image(bytes: image("240x240"), mimeType: "image/png")

private let link = RichLink("https://example.com/repairs", title: "Repairs", image: linkImage)

private let video = RichLink(
    "https://example.com/films/wheel", title: "How to true a wheel", image: linkImage,
    video: .init(url: "https://example.com/films/wheel.mp4", mimeType: "video/mp4"))

private let linkReferenceMessage = OutboundMessage.richLink(
    UploadedPayload(
        bid: nil, title: "Our App Clip", url: "https://p61-content.icloud.com/M58C0A1A2EB62B6E.C01USN00",
        owner: "M58C0A1A2EB62B6E.C01USN00", sizeBytes: 20480, signatureBase64: "gT6/RKaWd6peyoc0YJbtTDc7AhSk",
        key: "00" + String(repeating: "c0", count: 32)))

private let referenceMessage = OutboundMessage.uploaded(
    UploadedPayload(
        title: "Choose your basket", url: "https://p61-content.icloud.com/M58C0A1A2EB62B6E.C01USN00",
        owner: "M58C0A1A2EB62B6E.C01USN00", sizeBytes: 101_267,
        signatureBase64: "gdYWyD3loBxhiXGaXSDhdDDGMeHr",
        signature: "81d616c83de5a01c6189719a5d20e17430c631e1eb", dataRefSig: "MEUCIQ"),
    kind: .listPicker)

private let quickReplyMessage: OutboundMessage = {
    // These values are valid, so no error is expected.
    guard
        let request = try? QuickReplyRequest(
            summary: "Send it home?", items: [.init("yes", title: "Yes"), .init("no", title: "No")],
            requestIdentifier: "8ef748b5-3dc5-47ae-b185-65e91518d209")
    else { return .typingEnd }
    return .quickReply(request)
}()

private let listPickerMessage = OutboundMessage.listPicker(
    ListPickerRequest(
        [
            .init(
                "Fruit", allowsMultipleSelection: true,
                items: [
                    .init("apple", title: "Apple", subtitle: "One kilogram", image: "apple"),
                    .init("pear", title: "Pear"),
                ]),
            .init("Bread", items: [.init("rye", title: "Rye")]),
        ],
        presentation: Presentation(
            OutboundBubble(
                "Choose your basket", subtitle: "Picked this morning", style: .small, image: "basket"),
            reply: OutboundBubble("Your basket", style: .icon),
            images: [
                OutboundImage("basket", bytes: image("180x180"), description: "A basket"),
                OutboundImage("apple", bytes: image("180x180")),
            ],
            sessionIdentifier: "72f2c66f-4607-4702-acc5-4489deddc604")))

private let timePickerMessage = OutboundMessage.timePicker(
    TimePickerRequest(
        "repair-7", title: "Repair",
        timeslots: [
            .init("0", startSeconds: 1_783_702_800, duration: .seconds(3600)),
            .init("1", startSeconds: 1_783_708_230, duration: .seconds(1800)),
        ],
        location: .init("Workshop", latitude: 52.5, longitude: 13.25, radius: 100),
        timezoneOffset: .seconds(7200), image: "map",
        presentation: Presentation(
            OutboundBubble("When shall we come?", style: .large),
            images: [OutboundImage("map", bytes: image("1125x624"))])))

private func invitationMessage(logo: String?) -> OutboundMessage {
    .invitation(
        InvitationRequest(
            template: "binaryChoice.engage." + (logo == nil ? "noImage" : "withImage"),
            reference: "campaign-7/12", locale: "en-us", brandName: "Sam's Fish", brandLogo: logo))
}

private let appMessage = OutboundMessage.app(
    AppRequest(
        teamID: "EQHXZ8M8AV", extensionID: "com.example.parcels.extension",
        app: .init(appID: 1_471_612_309, name: "Parcel Locator", icon: image("120x120")),
        url: "?data=passed-to-app&data2=more-data-passed-to-app",
        received: OutboundBubble(
            "Title of Bubble", subtitle: "Subtitle to be displayed under title",
            imageTitle: "Title of image attachment", imageSubtitle: "Subtitle of the image attachment.",
            secondarySubtitle: "Title that is aligned right",
            tertiarySubtitle: "Subtitle that is aligned right"),
        reply: OutboundBubble("Chosen"), sessionIdentifier: "7f3120f5-a4d9-4fe3-a93e-737c7f573c8f",
        usesLiveLayout: true, attachments: [attachment("map.png", "image/png", sizeBytes: 2048)]))

private let authenticationMessage = OutboundMessage.authentication(
    AuthenticationRequest(
        scope: ["r_liteprofile"],
        state: "3D138r5719ru3e1%26AQAAY+jbFom1SW+wCRR2yq3eh+k0VtLQrTRnVPYF9V2fQ5LM5c53uamshW1DYOF2d+jnENvo"
            + "5c1sV+UWvjV2+rmGwJ+q2GsvPziBDsgw+Jps7YjbvqwtB+SVdLV2EJC4H0l3cVj8tMuEC0gSw3lGeRP4z+QhhPQ=",
        .two(
            redirectURI: "https://example.com/auth/linkedin/callback",
            additionalParameters: "parameter1=01&parameter2=02"),
        presentation: Presentation(
            OutboundBubble("Lets Sign In"), reply: OutboundBubble("Sign In Completed"),
            requestIdentifier: "0f8ad656-12a0-4fc9-a28d-22d103a0ae5d"))
).labelled(locale: "en_us")

private let classicAuthenticationMessage = OutboundMessage.authentication(
    AuthenticationRequest(
        scope: ["email", "profile"], state: "security_token",
        .one(
            responseEncryptionKey:
                "BCw95WzvCcVWrWYD29UIZvKD5IjNyMcExgzU/5VAC/iGWhFgCGMgVpRQQjVAM7aJXcevoKk0pBSGqp7lItsmK5H64nsmKqFV"
                + "othVy1vWdYPC/NyllQ/fmoTfJ9cW9WCpkQ==",
            clientSecret: "client_secret"),
        presentation: Presentation(
            OutboundBubble("Sign In to Business Chat Sandbox", image: "1"),
            reply: OutboundBubble("You Signed In", image: "1"),
            images: [OutboundImage("1", bytes: image("120x120"))],
            requestIdentifier: "3ef748b5-3dc5-47ae-b185-65e91518d209")))
