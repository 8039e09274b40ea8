import BalloonJSON
import BalloonPOSIX
import BalloonWire
package import RetentionMessages

/// The folder of an app with its messages and images; the App Store lists only their identifiers and states.
///
/// ```
/// config/apps/SLUG/images/cat.png       a PNG file in one of the two sizes
///                  messages/stay.json   a message, whose images are named by "file": "cat.png"
///                  defaults.json        the default message of each product and locale
///                  answers.json         the rules of the answers
/// ```
///
/// Every file may be missing. Identifiers derive from contents, so a message with a changed text is a new
/// message.
package struct RetentionFolder: Sendable {
    /// An image file.
    package struct Image: Sendable, Hashable {
        /// The identifier, derived from size and content.
        package let id: RetentionID
        /// The name of the file, such as `cat.png`.
        package let name: String
        /// The path of the file.
        package let path: String
        /// The size.
        package let size: RetentionImageSize
    }

    /// A message file.
    package struct Message: Sendable, Hashable {
        /// The identifier, derived from the content.
        package let id: RetentionID
        /// The name of the file without `.json`.
        package let name: String
        /// The content.
        package let content: RetentionMessage
    }

    /// A problem in a file of the folder.
    package struct FileProblem: Sendable, Hashable, CustomStringConvertible {
        /// The path of the file.
        package let path: String
        /// The broken rule; nil when the file cannot be read or is not JSON.
        package let problem: RetentionProblem?
        /// The problem as a text, or the reason why the file cannot be read or is not JSON.
        package let reason: String
        /// One line for people: `config/apps/shop/messages/stay.json:1:2: …`.
        package var description: String {
            problem.map { "\(path):\($0.line):\($0.column): \(reason)" } ?? "\(path): \(reason)"
        }
        /// Whether the file cannot be used, or the App Store would refuse its content.
        package var isError: Bool { problem?.severity != .warning }
    }

    /// The maximum bytes of an image.
    package static let maximumImageBytes = 64 << 20

    /// The images, sorted by name.
    package private(set) var images: [Image] = []
    /// The messages, sorted by name.
    package private(set) var messages: [Message] = []
    /// The default messages.
    package private(set) var defaults = DefaultMessages()
    /// The rules of the answers.
    package private(set) var rules = AnswerRules()

    private var byReference: [String: Message] = [:]

    /// Creates an empty folder.
    package init() {}

    /// The message with this name or identifier; nil for an unknown one.
    package func message(_ reference: String) -> Message? {
        byReference[reference] ?? byReference[reference.lowercased()]
    }

    /// Reads a folder and returns it with all problems, in the order of the files; a missing folder counts as
    /// empty.
    ///
    /// The result contains no message and no image with an error.
    package static func read(_ path: String) -> (folder: RetentionFolder, problems: [FileProblem]) {
        var reading = Reading(path: path)
        reading.readImages()
        reading.readMessages()
        reading.readDefaults()
        reading.readRules()
        return (reading.folder, reading.problems)
    }

    /// Derives an identifier from a content and its kind: the first bytes of their SHA-256, as a UUID of
    /// version 8.
    static func identifier(of kind: String, _ content: [UInt8]) -> RetentionID? {
        RetentionID(hash: SHA256.hash(Array("balloon \(kind)\n".utf8) + content))
    }
}

extension RetentionFolder {
    /// The state of reading a folder: the contents and the problems found so far.
    private struct Reading {
        let path: String
        var folder = RetentionFolder()
        var problems: [FileProblem] = []

        mutating func readImages() {
            for name in names(in: "images", suffix: ".png", maximum: RetentionLimits.maximumImages) {
                let file = "\(path)/images/\(name)"
                guard let bytes = bytes(of: file, maximum: RetentionFolder.maximumImageBytes) else {
                    continue
                }
                let found = RetentionImage.problems(in: bytes)
                for problem in found { report(problem, file) }
                guard found.isEmpty, let size = RetentionImage(png: bytes)?.size,
                    let id = RetentionFolder.identifier(of: "image \(size.rawValue)", bytes)
                else { continue }
                folder.images.append(Image(id: id, name: name, path: file, size: size))
            }
        }

        mutating func readMessages() {
            let images = Dictionary(folder.images.map { ($0.name, $0) }) { first, _ in first }
            let member = ImageMember("file") { images[$0]?.id }
            let sizes = Dictionary(folder.images.map { ($0.id, $0.size) }) { first, _ in first }
            for name in names(in: "messages", suffix: ".json", maximum: RetentionLimits.maximumMessages) {
                let file = "\(path)/messages/\(name)"
                guard let root = document(file) else { continue }
                var (message, found) = RetentionMessage.read(root, images: member)
                if let message { found += Self.sizeProblems(message, sizes, root) }
                for problem in found { report(problem, file) }
                guard let message, !found.contains(where: { $0.severity == .error }),
                    let id = RetentionFolder.identifier(of: "message", message.json)
                else { continue }
                add(Message(id: id, name: String(name.dropLast(".json".count)), content: message), file)
            }
        }

        private mutating func add(_ message: Message, _ file: String) {
            if let twin = folder.byReference[message.id.text] {
                report("has the same content as \(twin.name).json", file)
                return
            }
            folder.messages.append(message)
            folder.byReference[message.name] = message
            folder.byReference[message.id.text] = message
        }

        private static func sizeProblems(
            _ message: RetentionMessage, _ sizes: [RetentionID: RetentionImageSize], _ root: JSONValue
        ) -> [RetentionProblem] {
            var problems: [RetentionProblem] = []
            func check(_ image: RetentionID?, _ size: RetentionImageSize, _ value: JSONValue?) {
                guard let image, let value, sizes[image] != size else { return }
                problems.append(
                    RetentionProblem(
                        .imageSize, at: value, found: "an image of the other size", allowed: size.rawValue))
            }
            check(message.image?.identifier, .full, root["image"])
            for (index, point) in message.bulletPoints.enumerated() {
                check(point.image.identifier, .bulletPoint, root["bulletPoints"]?[index])
            }
            return problems
        }

        mutating func readDefaults() {
            let file = path + "/defaults.json"
            guard Directory.exists(file), let root = document(file) else { return }
            let (defaults, found) = DefaultMessages.read(root)
            for problem in found { report(problem, file) }
            guard let defaults else { return }
            folder.defaults = defaults
            for (_, locales) in root.members {
                for (_, name) in locales.members where folder.message(name.string ?? "") == nil {
                    report(
                        .reference, name, file, found: "the name of no message",
                        allowed: "the name of a message")
                }
            }
        }

        mutating func readRules() {
            let file = path + "/answers.json"
            guard Directory.exists(file), let root = document(file) else { return }
            let (rules, found) = AnswerRules.read(root)
            for problem in found { report(problem, file) }
            guard let rules, let list = root["rules"] else { return }
            folder.rules = rules
            for (rule, value) in zip(rules.rules, list.elements) { check(rule, value, file) }
        }

        private mutating func check(_ rule: AnswerRules.Rule, _ value: JSONValue, _ file: String) {
            if let name = rule.answer.message {
                if let message = folder.message(name) {
                    if rule.answer.needsPlainMessage, !message.content.isPlain {
                        report(
                            .plainMessage, value, file, found: "a message with an image or bullet points",
                            allowed: "a message without")
                    }
                } else {
                    report(
                        .reference, value, file, found: "the name of no message",
                        allowed: "the name of a message")
                }
            }
            guard !folder.defaults.messages.keys.contains(where: { rule.covers($0.product, $0.locale) })
            else {
                return
            }
            report(
                .defaultMessage, value, file, found: "no default message for these products and locales",
                allowed: "a default message, without which the App Store does not ask")
        }

        private mutating func names(in folder: String, suffix: String, maximum: Int) -> [String] {
            let directory = path + "/" + folder
            guard Directory.exists(directory) else { return [] }
            do {
                // Hidden files are skipped: editors and Kubernetes volumes create them.
                let names = try Directory.names(in: directory).filter {
                    $0.hasSuffix(suffix) && !$0.hasPrefix(".")
                }
                if names.count > maximum {
                    report("has \(names.count) files; the App Store allows \(maximum)", directory)
                }
                return Array(names.prefix(maximum))
            } catch {
                report("cannot be read: \(error)", directory)
                return []
            }
        }

        private mutating func bytes(of file: String, maximum: Int) -> [UInt8]? {
            do { return try Descriptor.open(reading: file).readToEnd(maximumBytes: maximum) } catch {
                report("cannot be read: \(error)", file)
                return nil
            }
        }

        private mutating func document(_ file: String) -> JSONValue? {
            guard let bytes = bytes(of: file, maximum: 4 << 20) else { return nil }
            do { return try JSONDocument(bytes).root } catch {
                let (line, column) = error.position(in: bytes)
                report("is not JSON at line \(line), column \(column): \(error.reason)", file)
                return nil
            }
        }

        private mutating func report(_ reason: String, _ file: String) {
            problems.append(FileProblem(path: file, problem: nil, reason: reason))
        }

        private mutating func report(_ problem: RetentionProblem, _ file: String) {
            problems.append(FileProblem(path: file, problem: problem, reason: "\(problem)"))
        }

        private mutating func report(
            _ rule: RetentionRule, _ value: JSONValue, _ file: String, found: String, allowed: String
        ) {
            report(RetentionProblem(rule, at: value, found: found, allowed: allowed), file)
        }
    }
}

extension RetentionProblem {
    fileprivate init(_ rule: RetentionRule, at value: JSONValue, found: String, allowed: String) {
        let (line, column) = value.position
        self.init(
            rule: rule, severity: .error, pointer: value.pointer, line: line, column: column, found: found,
            allowed: allowed)
    }
}
