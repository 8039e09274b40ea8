import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageServer
import MessageStore
import Review
import Simulator

/// The persons of the help desk, who act by the business API.
extension ScenePlayer {
    private var path: String { "conversations/\(ConversationFiles.name(of: customer.id))/" }

    private var person: JSONObject {
        ["id": isSecond ? "second" : "first", "name": brief.agent(second: isSecond).name]
    }

    /// Performs a step of a person or a program; a refusal is a part of the transcript.
    mutating func desk(_ step: Step) async throws {
        let attachment = step == .show(.attachment) ? try await upload() : nil
        let (action, place, body) = request(step, attachment)
        begin(.agent, action, nil)
        let (status, answer) = try await self.place.call("POST", path + place, JSONWriter.object(body))
        let outcome = answer?["outcome"]?.string ?? "accepted"
        if status >= 400 || outcome == "refused" || outcome == "dropped" {
            transcript.turns[transcript.turns.count - 1].refusal =
                answer?["detail"]?.string ?? "\(status) \(outcome)"
        }
        try await finish()
    }

    private mutating func request(_ step: Step, _ attachment: String?) -> (
        action: String, path: String, body: JSONObject
    ) {
        switch step {
        case .claim(let second):
            isSecond = second
            let action = "\(brief.agent(second: second).name) claims the conversation"
            return (action, "claim", ["person": person, "take": true])
        case .type: return ("types", "typing", ["typing": true])
        case .write(let text):
            let action = "\(brief.agent(second: isSecond).name) writes"
            return (action, "messages", ["text": text, "person": person])
        case .release(let toHandler):
            let to = toHandler ? "handler" : "waiting"
            return ("returns the conversation: \(to)", "release", ["to": to])
        case .close: return ("closes the conversation", "close", [:])
        case .show(let message):
            let files = attachment.map {
                [JSONObject(["id": $0, "name": "photo.png", "mimeType": "image/png"])]
            }
            let body: JSONObject = [
                "message": message.json.map { JSONText($0.utf8) },
                "text": files.map { _ in "The picture:" }, "attachments": files, "person": person,
            ]
            return ("sends a message: \(message.rawValue)", "messages", body)
        case .notify(let text):
            return ("a program sends a notice", "messages", ["text": text, "autoReply": true])
        default: return ("", "", [:])
        }
    }

    /// Uploads a picture of the person, and returns its name.
    private func upload() async throws -> String? {
        let (_, answer) = try await place.call(
            "POST", "attachments", Step.Sample.photo.file.bytes, type: "image/png")
        return answer?["id"]?.string
    }

    /// Posts a text with a token that the server must refuse.
    mutating func knock(_ token: Step.Token) async throws {
        begin(.event, "a request with a token that is \(token.rawValue)", nil)
        var levers = try PhoneLevers()
        levers.token = PhoneLevers.Token(rawValue: token.rawValue) ?? .wrong
        let message = try customer.message(completing: "Hi".asTextMessage)
        let posts = try await customer.post([message], levers) { _, _ in }
        let status = posts.first?.status ?? 0
        if status != 200 { transcript.turns[transcript.turns.count - 1].refusal = "\(status)" }
    }

    /// Opens the landing page as a brand that chooses the server in Apple Business Register.
    mutating func land(onlyID: Bool) async throws {
        begin(.event, "a brand opens the landing page" + (onlyID ? " with its identifier only" : ""), nil)
        let facts = onlyID ? "" : "&name=Brand-of-a-review&logo=https://example.com/logo.png"
        let wanted = ["brand-1"] + (onlyID ? [] : ["Brand-of-a-review", "https://example.com/logo.png"])
        let answer = try await place.page("/landing?id=brand-1" + facts)
        let page = String(decoding: answer.body, as: UTF8.self)
        if answer.status != 200 || !wanted.allSatisfy(page.contains) {
            transcript.turns[transcript.turns.count - 1].refusal = "\(answer.status)"
        }
    }

    /// Breaks something until the end of the scene.
    mutating func breaks(_ fault: Step.Fault) async {
        isFaulty = true
        switch fault {
        case .slow:
            begin(.event, "the handler answers 4 seconds late", nil)
            place.slowHandler(by: .seconds(4))
        case .killed:
            begin(.event, "the handler ends", nil)
            // A handler inside the server has no process; then the scene is as any other.
            await place.killHandler()
        case .gateway:
            begin(.event, "the gateway answers 500 once", nil)
            place.server.simulators.gateway.misbehave(at: .message, .answer(.internalServerError))
        }
    }

    /// Ends what the scene broke.
    func repair() {
        place.server.simulators.gateway.behave()
        place.slowHandler(by: .zero)
    }

    mutating func attach(_ sample: Step.Sample, _ words: String) async throws {
        let file = place.server.directory + "/review-\(sample.rawValue)"
        let (name, mimeType, bytes) = sample.file
        if !Directory.exists(file) { try AtomicFile.write(bytes, to: file) }
        let attachment = try await customer.attach(file, name: name, mimeType: mimeType)
        let text = try customer.message(completing: words.asTextMessage)
        try await post(try customer.message(text, with: [attachment]), "[\(name)] \(words)", nil)
    }

    /// Sends a heart as Apple does: a text in English that quotes the message, or counts bubbles.
    mutating func react(toBubble: Bool) async throws {
        let lines = transcript.turns.flatMap(\.messages)
        let text: String
        if toBubble {
            guard lines.contains(where: { $0.kind != .text }) else { return }
            text = "Loved a Business Message"
        } else {
            guard let line = lines.last(where: { !$0.text.isEmpty }) else { return }
            text = "Loved “\(line.text)”"
        }
        try await post(try customer.message(completing: text.asTextMessage), text, nil)
    }

    /// Replaces references by the content that the server recorded, and names the authors of the messages.
    mutating func complete() {
        // Without lines the authors are those of the header fields.
        let lines = (try? place.lines(of: customer.id)) ?? []
        let known = Dictionary(lines.filter { $0.direction == .outbound }.map { ($0.id, $0) }) { $1 }
        for index in transcript.turns.indices {
            for number in transcript.turns[index].lines.indices {
                let line = transcript.turns[index].lines[number]
                guard let id = line.message["id"]?.string, let record = known[MessageID(id)] else { continue }
                let author: Line.Author =
                    switch record.author {
                    case .handler, nil: line.isAutomatic ? .handler : .person
                    case .program: .program
                    case .server: .server
                    case .person, .unnamedPerson: .person
                    }
                let isReferred = line.message["interactiveDataRef"] != nil
                transcript.turns[index].lines[number] = Line(
                    author, person: record.author?.person?.name ?? record.author?.person?.id, at: line.at,
                    kind: record.kind, isAutomatic: line.isAutomatic,
                    message: isReferred ? record.message : line.message)
            }
        }
    }
}

extension Device {
    /// The interactive messages that the device can show.
    var capabilities: Capabilities {
        DeviceOptions.Device(rawValue: rawValue)?.capabilities ?? []
    }
}

extension Step.Sample {
    /// The name, the media type and the content of the file.
    fileprivate var file: (name: String, mimeType: String, bytes: [UInt8]) {
        switch self {
        case .photo: ("photo.png", "image/png", Base64.decode(FeatureMessage.picture) ?? [])
        case .pdf: ("receipt.pdf", "application/pdf", Array("%PDF-1.4\n%%EOF\n".utf8))
        case .audio: ("audio.m4a", "audio/mp4", [0, 0, 0, 8] + Array("ftyp".utf8))
        case .unknown: ("file.xyz", "application/octet-stream", [0, 1, 2, 3])
        }
    }
}
