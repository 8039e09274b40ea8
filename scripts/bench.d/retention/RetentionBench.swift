import BalloonJSON
import BalloonPOSIX
import BalloonWire
import RetentionClient
import RetentionMessages
import Simulator

/// Writes an app and questions about it: `RetentionBench FOLDER QUESTIONS PYTHON`.
///
/// `FOLDER/config/apps/rules.json` answers by rules and `python.json` by a program; the states are in `FOLDER/data`.
/// `FOLDER/rules`, `python` and `forged` have one request's body on each line. Half of the forged ones have the chain
/// of the good ones and another signature, the others chains of their own.
@main struct RetentionBench {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int(arguments[2]) else {
            StandardStream.error.write("usage: RetentionBench FOLDER QUESTIONS PYTHON\n")
            ProcessEnd.exit(64)
        }
        let (folder, program) = (arguments[1], arguments[3])
        let now = SystemClock.secondsSince1970()
        let store = try SimulatedAppStore(at: now)
        let apps = folder + "/config/apps"
        try Directory.make(apps)
        try AtomicFile.write(store.root, to: apps + "/root.cer")
        for slug in ["rules", "python"] {
            let handler =
                slug == "rules"
                ? ""
                : #","handler":{"exec":["\#(program)"],"config":{"product":"p.monthly","message":"stay"}}"#
            let files = [
                "\(slug).json":
                    #"{"bundleID":"com.example.app","appleID":1,"issuerID":"i","keyID":"K","keyFile":"key.p8","rootFile":"root.cer"\#(handler)}"#,
                "\(slug)/messages/stay.json": #"{"header":"Stay","body":"Please stay."}"#,
                "\(slug)/defaults.json": #"{"p.monthly":{"en-US":"stay"}}"#,
                "\(slug)/answers.json": #"{"rules":[{"locale":"en","answer":{"message":"stay"}}]}"#,
            ]
            for (name, text) in files {
                try Directory.make(Directory.parent(of: "\(apps)/\(name)"))
                try AtomicFile.write(Array(text.utf8), to: "\(apps)/\(name)")
            }
            let messages = RetentionFolder.read("\(apps)/\(slug)").folder.messages.map {
                ($0.id, RetentionState.approved)
            }
            let states = RetentionStates(messages: Dictionary(messages) { first, _ in first })
            try states.write(
                to: RetentionStates.path(dataDirectory: folder + "/data", slug: slug, .production))
            try write(count, to: "\(folder)/\(slug)") { try store.body(asking: try question()) }
        }
        let strangers = try (0..<64).map { _ in try SimulatedAppStore(at: now) }
        let good = try store.body(asking: try question())
        try write(count, to: folder + "/forged") {
            if Bool.random() {
                // The end of the signature changes; the chain stays.
                return Array(String(decoding: good, as: UTF8.self).dropLast(12).utf8)
                    + Base64.encode(randomBytes(7), alphabet: .url).utf8 + Array("\"}".utf8)
            }
            return try strangers[Int.random(in: 0..<strangers.count)].body(asking: try question())
        }
    }

    struct Unusable: Error {}

    private static func question() throws -> RetentionRequest {
        guard let product = ProductID("p.monthly"), let locale = StoreLocale("en-US"),
            let identifier = RetentionID(hash: randomBytes(16))
        else { throw Unusable() }
        return RetentionRequest(
            originalTransactionID: "1", appAppleID: 1, productID: product, locale: locale,
            requestIdentifier: identifier, environment: .production,
            signedMilliseconds: Int(Timestamp.now().milliseconds))
    }

    private static func write(_ count: Int, to path: String, _ body: () throws -> [UInt8]) throws {
        let file = try File(path, for: .appending)
        for _ in 0..<count { try file.append(try body() + [0x0A]) }
    }
}
