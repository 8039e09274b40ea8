internal import BalloonJSON

extension FormRequest.Page {
    /// The options of a date page; dates are written in ``format``.
    public struct DateOptions: Hashable, Sendable {
        /// The pattern in which the dates are written; the default is `MM/dd/yyyy`.
        public let format: String?
        /// The preselected date; the default is today.
        public let start: String?
        /// The earliest date.
        public let minimum: String?
        /// The latest date; the default is today.
        public let maximum: String?
        /// The label beside the field; the default is `Date`.
        public let label: String?

        /// Creates options; nil values use the device's default.
        public init(
            format: String? = nil, start: String? = nil, minimum: String? = nil, maximum: String? = nil,
            label: String? = nil
        ) {
            self.format = format
            self.start = start
            self.minimum = minimum
            self.maximum = maximum
            self.label = label
        }

        var object: JSONObject? {
            guard self != DateOptions() else { return nil }
            return [
                "dateFormat": format, "startDate": start, "minimumDate": minimum, "maximumDate": maximum,
                "labelText": label,
            ]
        }
    }

    /// The options of an input field.
    public struct InputOptions: Hashable, Sendable {
        /// Whether the customer must enter a text.
        public let isRequired: Bool
        /// Whether the text may have several lines.
        public let isMultiline: Bool
        /// The maximum number of characters; the default is 30, or 300 for several lines.
        public let maximumCharacters: Int?
        /// A regular expression that the text must match, without JSON escapes.
        public let regex: String?
        /// The placeholder of the empty field; the default is `Required` or `Optional`.
        public let placeholder: String?
        /// The label beside the field; single-line fields only.
        public let label: String?
        /// The prefix of the text, such as `$`; single-line fields only.
        public let prefix: String?
        /// The keyboard.
        public let keyboard: Keyboard?
        /// The meaning of the text, for the keyboard's suggestions.
        public let contentType: TextContentType?

        /// Creates options; nil values use the device's default.
        public init(
            isRequired: Bool = false, isMultiline: Bool = false, maximumCharacters: Int? = nil,
            regex: String? = nil, placeholder: String? = nil, label: String? = nil, prefix: String? = nil,
            keyboard: Keyboard? = nil, contentType: TextContentType? = nil
        ) {
            self.isRequired = isRequired
            self.isMultiline = isMultiline
            self.maximumCharacters = maximumCharacters
            self.regex = regex
            self.placeholder = placeholder
            self.label = label
            self.prefix = prefix
            self.keyboard = keyboard
            self.contentType = contentType
        }

        var object: JSONObject {
            [
                "required": isRequired, "inputType": isMultiline ? "multiline" : "singleline",
                "maximumCharacterCount": maximumCharacters, "regex": regex, "placeholder": placeholder,
                "labelText": label, "prefixText": prefix, "keyboardType": keyboard?.rawValue,
                "textContentType": contentType?.rawValue,
            ]
        }
    }

    /// A keyboard of the device.
    ///
    /// Apple's table has `emailAddress`, and Apple's sample `UIKeyboardTypeEmailAddress`. The raw values follow the
    /// table.
    public enum Keyboard: String, CaseIterable, Sendable {
        /// The default keyboard.
        case standard = "default"
        /// ASCII characters.
        case asciiCapable
        /// Digits and punctuation.
        case numbersAndPunctuation
        /// For web addresses.
        case url = "URL"
        /// Digits only, as for a PIN.
        case numberPad
        /// For telephone numbers.
        case phonePad
        /// For a name or a telephone number.
        case namePhonePad
        /// For mail addresses.
        case emailAddress
        /// Digits and a decimal point.
        case decimalPad
        /// With the characters @ and #.
        case twitter = "UIKeyboardTypeTwitter"
        /// For web searches.
        case webSearch
    }

    /// The meaning of an input field's text (Apple's `UITextContentType`).
    public enum TextContentType: String, CaseIterable, Sendable {
        /// A whole name.
        case name
        /// A title before a name.
        case namePrefix
        /// A first name.
        case givenName
        /// A middle name.
        case middleName
        /// A family name.
        case familyName
        /// A suffix after a name.
        case nameSuffix
        /// A nickname.
        case nickname
        /// A job title.
        case jobTitle
        /// An organisation.
        case organizationName
        /// A place.
        case location
        /// A whole postal address.
        case fullStreetAddress
        /// The first line of a postal address.
        case streetAddressLine1
        /// The second line of a postal address.
        case streetAddressLine2
        /// A city.
        case addressCity
        /// A state.
        case addressState
        /// A city with its state.
        case addressCityAndState
        /// A part of a city.
        case sublocality
        /// A country.
        case countryName
        /// A postal code.
        case postalCode
        /// A telephone number.
        case telephoneNumber
        /// A mail address.
        case emailAddress
        /// A web address.
        case url = "URL"
        /// The number of a credit card.
        case creditCardNumber
        /// A name to sign in with.
        case username
        /// A password.
        case password
        /// A password that is being chosen.
        case newPassword
        /// A code that is used once.
        case oneTimeCode
    }
}
