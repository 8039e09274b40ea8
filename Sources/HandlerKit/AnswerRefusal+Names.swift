// Written by scripts/generated from config/schemas.

extension AnswerRefusal.Problem {
    /// The names of members in Apple's messages and in the handler protocol.
    static let memberNames: Set<Substring> = [
        "URL", "accepted", "access", "additionalParameters", "advancedCommerceInfo", "afterGap",
        "afterPerson", "agrees", "allowed", "alternateProduct", "alternateTitle", "amount", "answers",
        "app", "appAccountToken", "appAppleId", "appIcon", "appId", "appName", "applePay", "assets", "at",
        "attachments", "attempt", "attempts", "authenticate", "authentication", "bid", "billingPlanType",
        "body", "brandLogo", "brandName", "business", "buttonTitle", "call", "callId", "capabilities",
        "charged", "claims", "clientId", "clientSecret", "code", "config", "conversation", "countryCode",
        "currency", "currencyCode", "customer", "data", "dataRefSig", "dateFormat", "deadlineMs",
        "decryptedToken", "deliveryId", "description", "destinationId", "detail", "direction",
        "displayName", "domainName", "duration", "dynamic", "endpoints", "environment", "epochTimestamp",
        "error", "errors", "event", "eventTimeoutMs", "events", "expiresAt", "expiresInSeconds", "failure",
        "fallback", "fallbackUrl", "files", "found", "group", "handler", "header", "hintText", "history",
        "host", "httpStatus", "id", "identifier", "image", "imageIdentifier", "imageSubtitle", "imageTitle",
        "images", "inReplyTo", "initiative", "initiativeContext", "inputType", "intent", "interactiveData",
        "interactiveDataRef", "invitation", "isNew", "isReturning", "issuer", "items", "jsonrpc", "key",
        "keyboardType", "kind", "label", "labelText", "lastContact", "latitude", "level", "limits",
        "lineItems", "listPicker", "locale", "location", "longitude", "maxInFlight", "maxLineBytes",
        "maximumCharacterCount", "maximumDate", "merchantCapabilities", "merchantIdentifier",
        "merchantName", "merchantSession", "merchantSessionIdentifier", "message", "messageId",
        "messagePath", "metadata", "method", "mimeType", "minimumDate", "mspVersion", "multipleSelection",
        "name", "newLineItems", "newShippingMethods", "newTotal", "nextPageIdentifier", "nonce", "note",
        "notification", "oauth2", "of", "offer", "options", "order", "orderTrackingUrl",
        "originalTransactionId", "outcome", "owner", "pageIdentifier", "pages", "parameters", "params",
        "passage", "path", "payment", "paymentGatewayUrl", "paymentMethodUpdateUrl", "paymentRecord",
        "paymentRequest", "payments", "pickerTitle", "placeholder", "pointer", "prefixText", "preview",
        "priority", "private", "problems", "product", "productId", "promotionalOffer", "protocolVersion",
        "protocolVersions", "purpose", "queue", "quick-reply", "radius", "reaction", "reason", "receivedAt",
        "receivedMessage", "redirectURI", "reference", "referenceId", "refresh", "regex", "removed",
        "replay", "replies", "reply", "replyMessage", "request", "requestIdentifier", "required",
        "requiredBillingContactFields", "requiredShippingContactFields", "responseEncryptionKey",
        "responseType", "result", "retention", "retryAfterMs", "reusable", "richLinkData",
        "richLinkDataRef", "rule", "scope", "secondarySubtitle", "sections", "selectedIdentifier",
        "selectedIdentifiers", "selectedItemIndex", "seq", "sessionIdentifier", "sha256", "sheet",
        "shippingContactUpdateUrl", "shippingMethodUpdateUrl", "shippingMethods", "showSummary", "signIn",
        "signature", "signature-base64", "signedDate", "signedFields", "size", "slug", "sourceId", "splash",
        "splashtext", "startDate", "startPageIdentifier", "startTime", "state", "status", "storeRegion",
        "style", "subject", "submitForm", "subtitle", "summary", "summaryText", "supportedCountries",
        "supportedNetworks", "tapback", "template", "templateId", "tertiarySubtitle", "text",
        "textContentType", "timeslots", "timezoneOffset", "title", "tokens", "total", "traceparent", "type",
        "types", "unrecognizedReason", "url", "useLiveLayout", "userLocale", "v", "value", "version",
        "video", "withdrawn", "words",
    ]

    /// Those of ``memberNames`` whose value is a list.
    static let listNames: Set<Substring> = [
        "attachments", "capabilities", "errors", "events", "files", "history", "images", "items",
        "lineItems", "merchantCapabilities", "metadata", "newLineItems", "newShippingMethods", "pages",
        "payments", "problems", "protocolVersions", "replies", "requiredBillingContactFields",
        "requiredShippingContactFields", "scope", "sections", "selectedIdentifiers", "shippingMethods",
        "signedFields", "supportedCountries", "supportedNetworks", "timeslots", "types",
    ]
}
