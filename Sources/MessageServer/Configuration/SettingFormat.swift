import BalloonPOSIX
import BalloonWire
import BusinessMessages
import GatewayClient

/// The formats of settings; each function returns the parsed value.
enum SettingFormat {
    /// An Apple identifier: 1 to 512 bytes of visible ASCII.
    static func identifier(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text, (1...512).contains(text.utf8.count) && text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            "is not an identifier", hint: "copy it from Apple Business Register, without blanks")
    }

    /// What Apple's requests would not match in an identifier that resembles a UUID, and what to do; nil for a UUID
    /// as Apple spells it, and for another kind of identifier.
    ///
    /// Webhook requests and tokens name identifiers as Apple spells them, and every byte is compared.
    static func doubt(about text: String) -> (reason: String, hint: String)? {
        let lowered = text.lowercased()
        let name = ["urn:biz:", "urn:uuid:"].first(where: lowered.hasPrefix).map {
            lowered.dropFirst($0.count)
        }
        // Braces, dashes and other signs around and between the digits.
        let digits = (name ?? lowered[...]).utf8.filter { !isSign($0) }
        let groups = (name ?? lowered[...]).utf8.split(separator: UInt8(ascii: "-")).map {
            $0.count { !isSign($0) }
        }
        let isHex = digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
        guard isHex && digits.count >= 16 || groups == [8, 4, 4, 4, 12] else { return nil }
        let copy = "copy it from Apple Business Register"
        guard isHex else { return ("with characters other than 0-9, a-f and -", copy) }
        guard digits.count == 32 else { return ("of \(digits.count) hexadecimal digits instead of 32", copy) }
        var spelling = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { spelling += "-" }
            spelling.unicodeScalars.append(Unicode.Scalar(digit))
        }
        if spelling == text { return nil }
        return ("in another form than a UUID with small letters and dashes", "\(copy), probably \(spelling)")
    }

    private static func isSign(_ byte: UInt8) -> Bool {
        byte < 0x80 && !Character(Unicode.Scalar(byte)).isLetter && !Character(Unicode.Scalar(byte)).isNumber
    }

    /// A business's identifier as messages contain it, without the prefix `urn:biz:`.
    static func businessID(_ text: String) throws(InvalidSetting) -> BusinessID {
        guard !text.lowercased().hasPrefix("urn:biz:") else {
            throw InvalidSetting(
                "begins with urn:biz:", hint: "remove this prefix, which messages do not contain")
        }
        return BusinessID(try identifier(text))
    }

    /// A name for people: 1 to 200 bytes.
    static func name(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text, (1...200).contains(text.utf8.count),
            "is empty or longer than 200 bytes", hint: "write a short name")
    }

    /// The header `msp-agent`: 1 to 64 printable ASCII characters, which is as many as Apple logs.
    static func agent(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text,
            (1...64).contains(text.utf8.count) && text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
                && text.first != " " && text.last != " ",
            "is not 1 to 64 printable ASCII characters", hint: "write a short name such as Balloon")
    }

    /// A listener's address.
    static func listener(_ text: String) throws(InvalidSetting) -> SocketAddress {
        try checked(
            SocketAddress(text), "is not an address to listen on",
            hint: "write HOST:PORT with an IP address, as in 127.0.0.1:8080, or unix:PATH")
    }

    /// The admin listener's address, or `off`.
    static func adminListener(_ text: String) throws(InvalidSetting) -> AdminAddress {
        if text == "off" { return .off }
        return .required(
            try checked(
                SocketAddress(text), "is neither off nor an address to listen on",
                hint: "write off, HOST:PORT with an IP address, as in 127.0.0.1:8081, or unix:PATH"))
    }

    /// The inspector's TCP address; nil for `off`.
    static func inspectorListener(_ text: String) throws(InvalidSetting) -> SocketAddress? {
        if text == "off" { return nil }
        guard let address = SocketAddress(text), address.port != nil else {
            throw InvalidSetting(
                "is neither off nor a TCP address to listen on",
                hint: "write off, or HOST:PORT with an IP address, as in 127.0.0.1:8026")
        }
        return address
    }

    /// The inspector's token; the problem does not quote it.
    static func inspectorToken(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text, text.utf8.count >= 16 && text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            "is not a token of at least 16 visible ASCII characters", hint: "use openssl rand -hex 16")
    }

    /// The public URL of this server.
    static func publicURL(_ text: String) throws(InvalidSetting) -> String {
        try webAddress(text).text
    }

    /// The gateway's URL: tokens are sent there, so plain `http` must not leave the machine.
    static func gatewayURL(_ text: String) throws(InvalidSetting) -> String {
        let address = try webAddress(text)
        guard address.isSecure || address.isLoopback else {
            throw InvalidSetting("is plain http to another machine", hint: "use https")
        }
        return address.text
    }

    private static func webAddress(_ text: String) throws(InvalidSetting) -> WebAddress {
        try checked(
            WebAddress(text), "is not a web address",
            hint: "write https://HOST/PATH without user, query and fragment")
    }

    /// A host suffix with a dot, or an address with a port; in lower case.
    static func downloadHost(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text.lowercased(), DownloadPolicy.isEntry(text), "is not a host suffix",
            hint: "write it like icloud-content.com, or an address with its port like 127.0.0.1:9000")
    }

    /// The path of a file or directory: not empty, and without a zero byte.
    static func path(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text, !text.isEmpty && !text.utf8.contains(0),
            "is not a path", hint: "write the path of a file or directory")
    }

    /// The MSP's secret in standard Base64; Apple's secrets have at least 16 bytes.
    static func secret(_ text: String) throws(InvalidSetting) -> Secret {
        guard let secret = try? Secret(base64: text), secret.bytes.count >= 16 else {
            throw InvalidSetting(
                "is not the Base64 of at least 16 bytes",
                hint: "copy the secret unchanged from Apple Business Register")
        }
        return secret
    }

    /// A business's name in commands: 1 to 64 of `a-z`, `0-9` and `-`.
    static func slug(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text, (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isSlugByte),
            "has a name that is not a slug", hint: "name the file with 1 to 64 of a-z, 0-9 and -, then .json")
    }
}

/// Whether a byte may occur in the name of a business or a token.
func isSlugByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
    default: false
    }
}
