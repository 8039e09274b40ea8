import BalloonHTTP
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageServer
import Simulator

/// The ways in which the phone's message is posted: behind a reference, repeated, with a wrong token, late.
struct PhoneLevers: Sendable, Equatable {
    enum Payload: String, CaseIterable { case auto, reference, plain }
    enum Token: String, CaseIterable { case valid, wrong, expired, missing }
    enum Order: String, CaseIterable { case given, shuffled }

    var payload = Payload.auto
    var times = 1
    var devices = 1
    var token = Token.valid
    var delay = Duration.zero
    var order = Order.given

    /// Reads the member `levers`; nil means the defaults.
    init(_ object: JSONValue? = nil) throws(InspectorProblem) {
        guard let object else { return }
        let unknown = "this lever has no such value"
        payload = try object["payload"]?.word(unknown) ?? .auto
        token = try object["token"]?.word(unknown) ?? .valid
        order = try object["order"]?.word(unknown) ?? .given
        times = try object["times"]?.number(in: 1...5) ?? 1
        devices = try object["devices"]?.number(in: 1...2) ?? 1
        delay = .milliseconds(try object["delayMilliseconds"]?.number(in: 0...20_000) ?? 0)
    }
}

/// One request to the server's webhook, and its answer.
struct PhonePost: Sendable {
    let id: String
    let status: Int
    let milliseconds: Double
    let body: String
}

extension SimulatedCustomer {
    /// Posts messages as the levers say, one after another; returns each request's answer.
    ///
    /// A second device sends the same session with another id. `sent` gets the header fields of each request. A status of 0 means that the server did not answer.
    func post(
        _ messages: [[UInt8]], _ levers: PhoneLevers, sent: (String, [(name: String, value: String)]) -> Void
    ) async throws -> [PhonePost] {
        if levers.delay > .zero { try await Task.sleep(for: levers.delay) }
        var posted: [[UInt8]] = []
        for message in messages {
            for device in 0..<levers.devices {
                let own = device == 0 ? message : try withNewID(message)
                let body =
                    levers.payload == .plain
                    ? own : try await referring(own, always: levers.payload == .reference)
                posted += Array(repeating: body, count: levers.times)
            }
        }
        if levers.order == .shuffled { posted = Self.reordered(posted) }
        var posts: [PhonePost] = []
        // The token of each attempt is fresh, but the content is the same.
        for body in posted { posts.append(try await postOnce(body, levers.token, sent)) }
        return posts
    }

    /// The elements in a random order that differs from the given one, if there is one.
    static func reordered(_ elements: [[UInt8]]) -> [[UInt8]] {
        guard let first = elements.first, elements.contains(where: { $0 != first }) else { return elements }
        while true {
            let shuffled = elements.shuffled()
            if shuffled != elements { return shuffled }
        }
    }

    private func postOnce(
        _ message: [UInt8], _ kind: PhoneLevers.Token,
        _ sent: (String, [(name: String, value: String)]) -> Void
    ) async throws -> PhonePost {
        var request = try request(carrying: message)
        request.headers.removeAll { $0.name == "authorization" }
        let now = SystemClock.secondsSince1970()
        let token: String? =
            switch kind {
            case .valid: token()
            case .wrong: token(audience: MessageID.random().rawValue)
            case .expired: token(issuedAt: now - 2 * 86_400)
            case .missing: nil
            }
        if let token { request.headers.append(("authorization", "Bearer " + token)) }
        let id = request.headers.first { $0.name == "id" }?.value ?? ""
        sent(id, request.headers)
        let began = ContinuousClock.now
        let answer = try await exchange(request)
        let elapsed = ContinuousClock.now - began
        return PhonePost(
            id: id, status: answer.status, milliseconds: (elapsed / .microseconds(1)).rounded() / 1000,
            body: String(decoding: answer.body.prefix(1000), as: UTF8.self))
    }

    /// The same message with another id, so that the server does not ignore it as a repetition.
    func withNewID(_ message: [UInt8]) throws -> [UInt8] {
        let id = JSONWriter.quoted(MessageID.random().rawValue)
        return try JSONDocument(message).root.replacing(members: ["id": id])
    }
}
