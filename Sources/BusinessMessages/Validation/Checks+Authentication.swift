internal import BalloonJSON

extension Checks {
    /// The maximum length of a redirect address in bytes.
    static let maximumRedirectBytes = 8192

    static let authenticate = object(
        "InteractiveData.Data.Authenticate Dictionary", [.required("oauth2", oauth2)])

    private static let oauth2 = object(
        "Data.Authenticate.Oauth2 Dictionary",
        [
            .required("responseType", oneOf(["code"], .responseType)),
            .required("scope", list(of: text, minimum: 1)), .required("state", words),
            .optional("responseEncryptionKey", all(words, encryptionKey)), .optional("clientSecret", words),
            .optional("redirectURI", all(words, redirect)),
            .optional("additionalParameters", all(text, parameters)), .optional("clientId", text),
        ],
        then: { oauth2, inspection in
            let isFirst = oauth2["responseEncryptionKey"] != nil && oauth2["clientSecret"] != nil
            guard isFirst == (oauth2["redirectURI"] != nil) else { return }
            inspection.report(
                .authenticationProcedure, at: oauth2, found: isFirst ? "both" : "neither",
                allowed: "responseEncryptionKey with clientSecret, or redirectURI")
        })

    private static let encryptionKey = refuse(
        .encryptionKey, found: "something else", allowed: "97 bytes in Base64, the first is 4"
    ) { value in
        // The server adds the key of a queued sign-in of version 1 when it sends the message.
        guard value.nonEmptyString != nil, !value.equals(SignInRequest.placeholder) else { return false }
        // SEC 1 §2.3.3: an uncompressed point is the byte 4, then two coordinates of 48 bytes each.
        let point = value.base64Bytes
        return point?.count != 97 || point?.first != 4
    }

    private static let redirect = refuse(
        .redirectAddress, allowed: "https:// and a host, at most \(maximumRedirectBytes) bytes"
    ) { value in
        // The server adds the redirect address of a queued sign-in when it sends the message.
        guard let text = value.nonEmptyString, !value.equals(SignInRequest.placeholder) else { return false }
        return text.utf8.count > maximumRedirectBytes || !text.isWebAddress(schemes: ["https"])
    }

    private static let parameters = refuse(.additionalParameters, allowed: "a query such as a=1&b=2") {
        value in
        guard let text = value.textBytes, !text.isEmpty else { return false }
        // Each parameter begins with a name, which is not empty.
        var isStart = true
        let isQuery = text.allSatisfy { byte in
            if isStart, byte == UInt8(ascii: "&") || byte == UInt8(ascii: "=") { return false }
            isStart = byte == UInt8(ascii: "&")
            return byte > 0x20 && byte < 0x7F
        }
        return !isQuery || isStart
    }
}
