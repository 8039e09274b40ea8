internal import BalloonJSON

/// A form of one or more pages.
///
/// ```json
/// "data": {"dynamic": {"version": "1.1", "template": "messageForms", "data": {
///          "startPageIdentifier": "0", "showSummary": true, "private": true, "splash": {…}, "pages": […]}}}
/// ```
/// Apple MSP API, "Form Message". Only devices with ``Capability/form`` can show it: iPhone and iPad.
public struct FormRequest: Hashable, Sendable {
    /// The screen before the first page.
    public struct Splash: Hashable, Sendable {
        /// The label of the button; without it the screen is omitted.
        public let buttonTitle: String
        /// The headline under the image.
        public let header: String?
        /// The text.
        public let text: String?
        /// The identifier of one of the message's images.
        public let imageIdentifier: String?

        /// Creates a splash screen.
        public init(button: String, header: String? = nil, text: String? = nil, image: String? = nil) {
            buttonTitle = button
            self.header = header
            self.text = text
            imageIdentifier = image
        }
    }

    /// The pages in any order; each names the page that follows it.
    public let pages: [Page]
    /// The identifier of the first page.
    public let startPageIdentifier: String
    /// The screen before the first page; `nil` for none.
    public let splash: Splash?
    /// Whether the answers are private.
    ///
    /// Private answers must not be logged or shown in transcripts.
    public let isPrivate: Bool
    /// Whether the customer sees all answers before sending them.
    public let showsSummary: Bool
    /// The form schema's version.
    public let version: String
    /// The bubbles, images and identifiers, which all interactive messages have.
    public let presentation: Presentation

    /// Creates a form; its first page is `pages[0]` unless another one is named.
    public init(
        _ pages: [Page], startingAt startPage: String? = nil, splash: Splash? = nil, isPrivate: Bool = false,
        showsSummary: Bool = false, version: String = "1.1", presentation: Presentation
    ) {
        self.pages = pages
        startPageIdentifier = startPage ?? pages.first?.identifier ?? ""
        self.splash = splash
        self.isPrivate = isPrivate
        self.showsSummary = showsSummary
        self.version = version
        self.presentation = presentation
    }

    func write(to writer: inout JSONWriter, id: MessageID) {
        let splash: JSONObject? = splash.map {
            [
                "header": $0.header, "splashtext": $0.text, "buttonTitle": $0.buttonTitle,
                "imageIdentifier": $0.imageIdentifier,
            ]
        }
        presentation.write(
            to: &writer, id: id,
            [
                "dynamic": JSONObject([
                    "version": version, "template": "messageForms",
                    "data": JSONObject([
                        "startPageIdentifier": startPageIdentifier, "private": isPrivate ? true : nil,
                        "showSummary": showsSummary ? true : nil, "splash": splash, "pages": pages,
                    ]),
                ])
            ])
    }
}
