import BalloonJSON
import BusinessMessages

@testable import Review

/// A scene of a test, written as a story.
///
/// `>` is the customer, `*` an event, `-` a person or program, `<` the bot, `=` the server, `&` Ana, and
/// `!` a message that was refused. A line may end in ` @` and the seconds, or in ` #` and who answers now.
///
/// A message of the bot that begins with `{` is a whole message in JSON.
struct JudgedScene {
    let transcript: Transcript

    init(
        _ play: Play, _ name: String = "scene", locale: String = "en_US", _ story: [String]
    ) throws {
        var transcript = Transcript(Scene(play, name, locale: locale, []))
        var time = 0.0
        for entry in story {
            var text = String(entry.dropFirst(2))
            var state: String?
            if let range = text.ranges(of: " #").last {
                state = String(text[range.upperBound...])
                text = String(text[..<range.lowerBound])
            }
            time += 0.1
            if let range = text.ranges(of: " @").last, let seconds = Double(text[range.upperBound...]) {
                time += seconds
                text = String(text[..<range.lowerBound])
            }
            switch entry.first {
            case ">": transcript.turns.append(Turn(.customer, text, at: time, step: .say(text)))
            case "*": transcript.turns.append(Turn(.event, text, at: time))
            case "-": transcript.turns.append(Turn(.agent, text, at: time))
            case "!": transcript.turns[transcript.turns.count - 1].undelivered.append(text)
            default:
                transcript.turns[transcript.turns.count - 1].lines.append(
                    try Self.line(entry.first, text, at: time))
            }
            let last = transcript.turns.count - 1
            transcript.turns[last].state = state ?? transcript.turns[last].state ?? "handler"
        }
        self.transcript = transcript
    }

    private static func line(_ sign: Character?, _ text: String, at time: Double) throws -> Line {
        let author: Line.Author =
            switch sign {
            case "=": .server
            case "&": .person
            default: .handler
            }
        let json =
            text.hasPrefix("{")
            ? Array(text.utf8)
            : JSONWriter.object { writer in
                writer.field("type", text == "typing" ? "typing_start" : "text")
                if text != "typing" { writer.field("body", text) }
            }
        let message = try JSONDocument(json).root
        return Line(
            author, person: author == .person ? "Ana" : nil, at: time,
            kind: OutboundMessage.kind(of: message),
            isAutomatic: author != .person, message: message)
    }

    /// A quick reply with these choices.
    static func quickReply(_ choices: String...) -> String {
        let items = choices.map { "{\"identifier\":\"\($0)\",\"title\":\"\($0)\"}" }.joined(separator: ",")
        return interactive("\"quick-reply\":{\"summaryText\":\"Please choose\",\"items\":[\(items)]}")
    }

    /// An interactive message with this content of `data`.
    static func interactive(_ data: String) -> String {
        "{\"type\":\"interactive\",\"interactiveData\":{\"data\":{\"version\":\"1.0\",\"requestIdentifier\":\"r\",\(data)}}}"
    }

    /// A rich link.
    static func link(_ url: String, title: String, image: Bool = true) -> String {
        let assets = image ? ",\"assets\":{\"image\":{\"data\":\"AA==\",\"mimeType\":\"image/png\"}}" : ""
        return "{\"type\":\"richLink\",\"richLinkData\":{\"url\":\"\(url)\",\"title\":\"\(title)\"\(assets)}}"
    }
}
