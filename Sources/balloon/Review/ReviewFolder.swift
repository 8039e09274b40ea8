import BalloonPOSIX
import BalloonWire
import BusinessMessages
import HandlerBridges
import MessageServer

/// The configuration that a review uses: that of `--config`, or files as `balloon init` writes them, with the given handler.
struct ReviewFolder {
    /// The options with a configuration.
    let choice: DevelopmentHandler
    private let folder: String?

    private static let slug = "shop"

    /// Writes the files, unless there is a configuration.
    init(_ choice: DevelopmentHandler) throws {
        guard choice.config == nil else {
            self.choice = choice
            folder = nil
            return
        }
        // Reports a wrong program or address first.
        let known = DevelopmentServer.random()
        let binding = try Self.json(try choice.binding(for: known))
        let folder =
            (ProcessEnvironment.variables()["TMPDIR"] ?? "/tmp") + "/balloon-" + Hex.encode(randomBytes(6))
        try Directory.make(folder + "/businesses")
        let server = JSONWriter.object([
            "mspID": known.mspID, "secret": JSONObject(["env": "BALLOON_SECRET"]),
        ])
        try AtomicFile.write(server, to: folder + "/server.json")
        try AtomicFile.write(
            Array(Initialize.business(handler: binding).utf8), to: folder + "/businesses/\(Self.slug).json")
        var configured = choice
        (configured.handler, configured.handlerURL, configured.handlerSecretEnv) = (nil, nil, nil)
        configured.config = folder + "/server.json"
        self.choice = configured
        self.folder = folder
    }

    /// The member `handler` of a business's file; the path of a program becomes absolute, because the file is elsewhere.
    private static func json(_ binding: HandlerBinding?) throws -> String {
        guard case .bound(let name, let value) = binding else {
            return "{ \"builtin\": \"\(DemoHandlerFactory().name)\" }"
        }
        guard name == "exec", let program = value["exec"]?[0]?.string, program.contains("/"),
            !program.hasPrefix("/")
        else {
            return String(decoding: value.text, as: UTF8.self)
        }
        let path = try ProcessPaths.workingDirectory() + "/" + program
        return "{ \"exec\": [\(String(decoding: JSONWriter.quoted(path), as: UTF8.self))] }"
    }

    /// The business of the configuration that `name` names.
    func business(_ name: String?) throws -> BusinessConfiguration {
        let businesses = try ConfigurationLoader.businessConfigurations(file: choice.config ?? "")
        let chosen = try KnownBusiness.choose(name, among: businesses.map(KnownBusiness.init))
        guard let business = businesses.first(where: { $0.businessID == chosen.id }) else {
            throw CommandFailure.unknownArgument("--business", reason: "matches no business", hint: "")
        }
        return business
    }

    /// Removes the written files; a rest only occupies space.
    func remove() {
        if let folder { try? Directory.removeAll(folder) }
    }
}
