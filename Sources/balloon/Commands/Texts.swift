import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import MessageServer

/// `balloon texts`: the texts that the server sends itself, by business, key and language.
struct Texts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the texts that the server sends to customers, and the languages that miss one.",
        discussion: """
            The languages are those of the texts and words of each business's file. --sample prints "texts" in English or \
            German to start from.
            """)

    @Option(help: .value("file", "The server's configuration file."))
    var config = "config/server.json"

    @Option(help: "Print \"texts\" in this language, en or de, to start from.")
    var sample: String?

    @Flag(help: "Write one JSON object in each line.")
    var json = false

    func validate() throws {
        try require(
            sample.map({ ServerText.sampleLanguages.contains($0) }) ?? true,
            "--sample takes \(ServerText.sampleLanguages.joined(separator: " or "))")
    }

    func run() async throws {
        if let sample {
            let texts = JSONWriter.object { writer in
                writer.object("texts") { writer in
                    for text in ServerText.allCases {
                        writer.object(text.rawValue) { $0.field(sample, text.sample(in: sample)) }
                    }
                }
            }
            return StandardStream.output.write(String(decoding: texts, as: UTF8.self) + "\n")
        }
        if !json { StandardStream.output.write("BUSINESS  KEY  LANGUAGES  MISSING\n") }
        for business in try ConfigurationLoader.businessConfigurations(file: config) {
            let languages = business.languages
            for key in ServerText.allCases {
                guard let text = business.text(key) else { continue }
                let missing = languages.subtracting(text.languages.keys).sorted()
                let line = jsonLine { writer in
                    writer.fields(["business": business.slug, "key": key.rawValue])
                    writer.list("languages", text.languages.keys.sorted()) { $1.string($0) }
                    writer.list("missing", missing) { $1.string($0) }
                }
                let known = (["all"] + text.languages.keys.sorted()).joined(separator: ",")
                let words = [
                    business.slug, key.rawValue, known,
                    missing.isEmpty ? "-" : missing.joined(separator: ","),
                ]
                StandardStream.output.write(json ? line : words.joined(separator: "  ") + "\n")
            }
        }
    }
}
