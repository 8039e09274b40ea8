import BalloonHTTP
import BalloonJSON
import RetentionMessages

/// The content of a simulated App Store for one app, with the rules for changing it; uses no clock and no
/// socket.
struct RetentionMemory {
    /// A call behind `/inApps/v1/messaging/`.
    struct Call {
        let method: String
        /// The segments of the path.
        let path: [String]
        let query: String
        let body: [UInt8]
    }

    struct Image {
        let size: RetentionImageSize
        var state: RetentionState
    }

    struct Message {
        let content: RetentionMessage
        var state: RetentionState
    }

    var images: [RetentionID: Image] = [:]
    var messages: [RetentionID: Message] = [:]
    var defaults: [DefaultMessages.Key: RetentionID] = [:]
    private(set) var realtimeURL: RealtimeURL?

    /// Performs a call; `approves` means that new content is approved at once.
    mutating func answer(_ call: Call, approves: Bool) -> HTTPResponse {
        let state = approves ? RetentionState.approved : .pending
        switch (call.method, call.path.first, call.path.count) {
        case ("GET", "image", 2) where call.path[1] == "list": return imageList
        case ("GET", "message", 2) where call.path[1] == "list": return messageList
        case (_, "image", 2): return image(call, state)
        case (_, "message", 2): return message(call, state)
        case (_, "default", 3): return defaultMessage(call)
        case (_, "realtime", 2) where call.path[1] == "url": return url(call)
        default: return .unknownPath
        }
    }

    /// The product and locale of the default message with this number, starting over after the last; nil
    /// without any.
    func key(_ number: Int) -> DefaultMessages.Key? {
        let keys = DefaultMessages(defaults.mapValues(\.text)).keys
        return keys.isEmpty ? nil : keys[number % keys.count]
    }

    /// Whether a message and its images are approved.
    func isApproved(_ id: RetentionID) -> Bool {
        guard let message = messages[id], message.state == .approved else { return false }
        return message.content.images.allSatisfy { images[$0]?.state == .approved }
    }

    private mutating func image(_ call: Call, _ state: RetentionState) -> HTTPResponse {
        guard let id = RetentionID(call.path[1]) else { return .failed(.badRequest) }
        switch call.method {
        case "PUT":
            let name = call.query.isEmpty ? "imageSize=FULL_SIZE" : call.query
            guard let size = RetentionImageSize.allCases.first(where: { name == "imageSize=\($0.rawValue)" })
            else {
                return .failed(.badRequest)
            }
            if images[id] != nil { return .failed(.imageExists) }
            if images.count >= RetentionLimits.maximumImages { return .failed(.maximumImages) }
            guard let image = RetentionImage(png: call.body), !image.isTransparent else {
                return .failed(.invalidImage)
            }
            guard image.size == size else { return .failed(.imageSize) }
            images[id] = Image(size: size, state: state)
            return .done
        case "DELETE":
            if images[id] == nil { return .failed(.imageNotFound) }
            if messages.values.contains(where: { $0.content.images.contains(id) }) {
                return .failed(.imageInUse)
            }
            images[id] = nil
            return .done
        default: return .unknownPath
        }
    }

    private mutating func message(_ call: Call, _ state: RetentionState) -> HTTPResponse {
        guard let id = RetentionID(call.path[1]) else { return .failed(.badRequest) }
        switch call.method {
        case "PUT":
            guard let root = (try? JSONDocument(call.body))?.root else { return .failed(.badRequest) }
            let (content, problems) = RetentionMessage.read(root)
            let error = problems.first { $0.severity == .error }
            if let code = error?.rule.errorCode {
                return .failed(RetentionErrorCode(rawValue: code) ?? .badRequest)
            }
            guard let content, error == nil else { return .failed(.badRequest) }
            if messages[id] != nil { return .failed(.messageExists) }
            if messages.count >= RetentionLimits.maximumMessages { return .failed(.maximumMessages) }
            if content.images.contains(where: { images[$0] == nil }) { return .failed(.imageNotFound) }
            messages[id] = Message(content: content, state: state)
            return .done
        case "DELETE":
            guard messages.removeValue(forKey: id) != nil else { return .failed(.messageNotFound) }
            defaults = defaults.filter { $0.value != id }
            return .done
        default: return .unknownPath
        }
    }

    private mutating func defaultMessage(_ call: Call) -> HTTPResponse {
        guard let product = ProductID(call.path[1]) else { return .failed(.invalidProduct) }
        guard let locale = StoreLocale(call.path[2]) else { return .failed(.invalidLocale) }
        let key = DefaultMessages.Key(product, locale)
        switch call.method {
        case "PUT":
            let text = (try? JSONDocument(call.body))?.root["messageIdentifier"]?.string
            guard let id = text.flatMap({ RetentionID($0) }) else { return .failed(.badRequest) }
            guard let message = messages[id] else { return .failed(.messageNotFound) }
            guard message.state == .approved else { return .failed(.messageNotApproved) }
            if message.content.images.contains(where: { images[$0]?.state != .approved }) {
                return .failed(.imageNotApproved)
            }
            defaults[key] = id
            return .done
        case "GET":
            guard let id = defaults[key] else { return .failed(.defaultMessageNotFound) }
            return .json(JSONWriter.object { $0.field("messageIdentifier", id.text) })
        case "DELETE":
            defaults[key] = nil
            return .done
        default: return .unknownPath
        }
    }

    private mutating func url(_ call: Call) -> HTTPResponse {
        switch call.method {
        case "PUT":
            let text = (try? JSONDocument(call.body))?.root["realtimeURL"]?.string
            guard let url = text.flatMap({ RealtimeURL($0) }) else { return .failed(.invalidRealtimeURL) }
            realtimeURL = url
            return .done
        case "GET":
            guard let realtimeURL else { return .failed(.realtimeURLNotFound) }
            return .json(JSONWriter.object { $0.field("realtimeURL", realtimeURL.text) })
        case "DELETE":
            guard realtimeURL != nil else { return .failed(.realtimeURLNotFound) }
            realtimeURL = nil
            return .done
        default: return .unknownPath
        }
    }

    private var imageList: HTTPResponse {
        let list = images.sorted { $0.key.text < $1.key.text }.map { id, image in
            JSONObject([
                "imageIdentifier": id.text, "imageState": image.state.rawValue,
                "imageSize": image.size.rawValue,
            ])
        }
        return .json(JSONWriter.object(["imageIdentifiers": list]))
    }

    private var messageList: HTTPResponse {
        let list = messages.sorted { $0.key.text < $1.key.text }.map { id, message in
            JSONObject(["messageIdentifier": id.text, "messageState": message.state.rawValue])
        }
        return .json(JSONWriter.object(["messageIdentifiers": list]))
    }
}

/// The answers to calls.
extension HTTPResponse {
    /// 200 without content.
    static var done: HTTPResponse { HTTPResponse(.ok) }
    /// 404 without an error code.
    static var unknownPath: HTTPResponse { HTTPResponse(.notFound) }

    /// 200 with content.
    static func json(_ json: [UInt8]) -> HTTPResponse { HTTPResponse(.ok, json: json) }

    /// 429 with `Retry-After` in milliseconds since 1970.
    static func limited(untilMilliseconds time: Int) -> HTTPResponse {
        HTTPResponse(.tooManyRequests, json: body(.rateLimitExceeded), fields: [("Retry-After", "\(time)")])
    }

    /// The status and body of an error; the first three digits of its code are the HTTP status.
    static func failed(_ code: RetentionErrorCode) -> HTTPResponse {
        HTTPResponse(HTTPStatus(code: code.rawValue / 10_000) ?? .badRequest, json: body(code))
    }

    private static func body(_ code: RetentionErrorCode) -> [UInt8] {
        JSONWriter.object(["errorCode": code.rawValue, "errorMessage": "\(code)"])
    }
}
