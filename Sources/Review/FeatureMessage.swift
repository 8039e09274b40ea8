import BusinessMessages

/// The messages that a person sends to show what an MSP can do; the raw value is the kind.
package enum FeatureMessage: String, CaseIterable, Sendable {
    case attachment, richLink, quickReply, listPicker, timePicker, form, app, appClip

    /// The message in Apple's JSON, without the members that the server sets; nil for an attachment, which is uploaded first.
    package var json: String? {
        switch self {
        case .attachment: nil
        case .richLink:
            #"{"type":"richLink","richLinkData":{"url":"https://shop.example/orders","title":"Your order","assets":{"image":{"data":"\#(Self.picture)","mimeType":"image/png"}}}}"#
        case .quickReply:
            interactive(
                #""quick-reply":{"summaryText":"Please choose","items":[{"identifier":"1","title":"Yes"},{"identifier":"2","title":"No"}]}"#,
                bubbles: "")
        case .listPicker:
            interactive(
                #""listPicker":{"sections":[{"title":"Bread","order":0,"multipleSelection":true,"items":[{"identifier":"1","order":0,"title":"Rye"},{"identifier":"2","order":1,"title":"Wheat"}]}]}"#
            )
        case .timePicker:
            interactive(
                #""event":{"identifier":"e","title":"Collect it","timeslots":[{"identifier":"1","startTime":"2030-07-10T08:00+0000","duration":3600}]}"#
            )
        case .form:
            interactive(
                #""dynamic":{"version":"1.2","template":"messageForms","data":{"startPageIdentifier":"p","pages":[{"pageIdentifier":"p","type":"input","title":"Your name","subtitle":"For the parcel","submitForm":true,"options":{"required":true,"inputType":"singleline"}}]}}"#
            )
        case .app:
            #"{"type":"interactive","interactiveData":{"bid":"com.apple.messages.MSMessageExtensionBalloonPlugin:ABCDE12345:com.example.parcels.extension","appId":1471612309,"appName":"Parcels","URL":"?parcel=1","sessionIdentifier":"6f0c2f0e-0000-4000-8000-000000000009","receivedMessage":{"title":"Where is my parcel?"},"useLiveLayout":false}}"#
        case .appClip:
            #"{"type":"richLink","preview":{"url":"https://appclip.example.com/repairs","storeRegion":"us","title":"Repairs"}}"#
        }
    }

    private func interactive(_ data: String, bubbles: String = Self.bubbles) -> String {
        #"{"type":"interactive","interactiveData":{"bid":"\#(Interaction.businessExtension)","data":{"version":"1.0","requestIdentifier":"6f0c2f0e-0000-4000-8000-00000000000\#(Self.allCases.firstIndex(of: self) ?? 0)",\#(data)}\#(bubbles)}}"#
    }

    private static let bubbles =
        #","receivedMessage":{"title":"Please choose","style":"icon"},"replyMessage":{"title":"Chosen","style":"icon"}"#
    /// A PNG file of one grey pixel.
    package static let picture =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
}
