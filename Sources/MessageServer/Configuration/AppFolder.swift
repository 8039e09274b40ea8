import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import HandlerKit
import Logging
import RetentionClient
import RetentionMessages

/// The folder that holds one file and one folder for each app.
enum AppFolder {
    private static let keys = [
        "bundleID", "appleID", "issuerID", "keyID", "keyFile", "rootFile", "noAnswer", "decisionDays",
        "handler", "budgetMilliseconds", "concurrency", "stateRefreshMinutes",
    ]
    /// The keys that every file has.
    private static let requiredKeys = keys.prefix(5)
    /// The allowed budgets in milliseconds: the App Store waits 700 ms, of which the network needs a part.
    private static let budgets = 50...649

    /// Reads every app's file, sorted by slug; returns no apps when the folder is absent.
    ///
    /// `handlers` are the handlers of the program; nil leaves the bindings unchecked. Appends errors to
    /// `problems`, and problems that do not prevent a start to `warnings`.
    static func read(
        _ folder: String, handlers: [any HandlerFactory]?, noting problems: inout [ConfigurationProblem],
        warnings: inout [ConfigurationProblem]
    ) -> [AppConfiguration] {
        guard Directory.exists(folder) else { return [] }
        let names: [String]
        do {
            // Hidden files are skipped: editors and Kubernetes volumes create them.
            names = try Directory.names(in: folder).filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
                .sorted()
        } catch {
            problems.append(
                ConfigurationProblem(
                    at: .file(folder), "cannot be read: \(error)", hint: "check its path and mode"))
            return []
        }
        var apps: [AppConfiguration] = []
        for name in names {
            let path = folder + "/" + name
            let slug = Setting(text: String(name.dropLast(".json".count)), place: .file(path))
                .parsed(SettingFormat.slug, noting: &problems)
            guard let document = ConfigurationFile.document(path, noting: &problems), let slug,
                let app = read(
                    document.root, path, slug, handlers, noting: &problems, warnings: &warnings)
            else { continue }
            apps.append(app)
        }
        return apps
    }

    private static func read(
        _ root: JSONValue, _ file: String, _ slug: String, _ handlers: [any HandlerFactory]?,
        noting problems: inout [ConfigurationProblem],
        warnings: inout [ConfigurationProblem]
    ) -> AppConfiguration? {
        var reader = ObjectReader(root, file: file, keys: keys)
        for key in requiredKeys where !reader.has(key) {
            reader.problem("has no \"\(key)\"", hint: "add it; App Store Connect shows it")
        }
        let bundleID = word("bundleID", &reader)
        let issuerID = word("issuerID", &reader)
        let keyID = word("keyID", &reader)
        let appleID = reader.integer("appleID", in: 1...Int(Int32.max) * 64)
        let directory = Directory.parent(of: file)
        let key = key(&reader, directory)
        let certificate = reader.has("rootFile") ? certificate(&reader, directory) : .appleG3
        let noAnswer = noAnswer(&reader)
        let days = reader.integer("decisionDays", in: 1...3650)
        let request = root["handler"].map { binding in
            HandlerBindingRequest(
                binding: binding, business: BusinessID(bundleID ?? ""), slug: slug, directory: directory,
                scratchDirectory: "", deadline: .seconds(1), maximumInFlight: 1,
                logger: Logger(label: "balloon"))
        }
        let handler = reader.object("handler", keys: HandlerBinding.keys) {
            HandlerBinding.read(&$0, request, handlers)
        }
        let budget = reader.integer("budgetMilliseconds", in: budgets)
        let refresh = reader.integer("stateRefreshMinutes", in: 0...1440)
        let concurrency = reader.integer("concurrency", in: 1...1024)
        problems += reader.problems
        let (folder, found) = RetentionFolder.read(directory + "/" + slug)
        for problem in found {
            if problem.isError {
                problems.append(ConfigurationProblem(problem))
            } else {
                warnings.append(ConfigurationProblem(problem))
            }
        }
        guard let bundleID, let issuerID, let keyID, let appleID, let key, let certificate else { return nil }
        if certificate != .appleG3 {
            warnings.append(
                ConfigurationProblem(
                    at: .file(file), "has a \"rootFile\" that is not Apple Root CA - G3",
                    hint: "remove the key, unless this is a simulation"
                )
            )
        }
        let identity = AppIdentity(
            bundleID: bundleID, appleID: appleID, issuerID: issuerID, keyID: keyID, key: key.key)
        var app = AppConfiguration(slug: slug, identity: identity, root: certificate, folder: folder)
        app.noAnswer = noAnswer ?? app.noAnswer
        app.decisionDays = days ?? app.decisionDays
        app.keyFile = key.file
        app.handler = handler
        app.directory = directory
        app.budget = budget.map { .milliseconds($0) } ?? app.budget
        if let refresh { app.refreshInterval = refresh == 0 ? nil : .seconds(refresh * 60) }
        app.concurrency = concurrency ?? app.concurrency
        return app
    }

    private static func word(_ key: String, _ reader: inout ObjectReader) -> String? {
        guard let text = reader.text(key) else { return nil }
        guard (1...255).contains(text.text.utf8.count),
            text.text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            reader.report(
                text, "is not 1 to 255 visible ASCII characters", hint: "copy it from App Store Connect")
            return nil
        }
        return text.text
    }

    private static func noAnswer(_ reader: inout ObjectReader) -> AppConfiguration.NoAnswer? {
        guard let text = reader.text("noAnswer") else { return nil }
        guard let answer = AppConfiguration.NoAnswer(rawValue: text.text) else {
            reader.report(text, "is not an answer", hint: "use empty or 503")
            return nil
        }
        return answer
    }

    private static func key(
        _ reader: inout ObjectReader, _ directory: String
    ) -> (key: SigningKey, file: String)? {
        guard let path = reader.text("keyFile") else { return nil }
        let file = absolute(path.text, in: directory)
        do throws(InvalidSetting) {
            let text = try ConfigurationFile.text(file)
            // Every unusable file gets the same reason, which does not describe the format further.
            guard let pem = try? Secret(Array((text + "\n").utf8)), let key = try? SigningKey(pem: pem),
                key.publicKey.algorithm == .es256
            else {
                throw InvalidSetting(
                    "is not an in-app purchase key", hint: "use the .p8 file of App Store Connect unchanged")
            }
            return (key, file)
        } catch {
            reader.report(path, error.reason, hint: error.hint)
            return nil
        }
    }

    private static func certificate(_ reader: inout ObjectReader, _ directory: String) -> RootCertificate? {
        guard let path = reader.text("rootFile") else { return nil }
        let file = absolute(path.text, in: directory)
        let bytes: [UInt8]
        do {
            bytes = try Descriptor.open(reading: file).readToEnd(maximumBytes: 1 << 16)
        } catch {
            reader.report(
                path, "names a file that cannot be read: \(error)", hint: "check its path and mode")
            return nil
        }
        do { return try RootCertificate(bytes) } catch {
            reader.report(
                path, "is not one root certificate",
                hint: "remove the key: Apple Root CA - G3 is in the program")
            return nil
        }
    }

    private static func absolute(_ path: String, in directory: String) -> String {
        path.hasPrefix("/") ? path : directory + "/" + path
    }
}

extension ConfigurationProblem {
    fileprivate init(_ found: RetentionFolder.FileProblem) {
        guard let problem = found.problem else {
            self.init(at: .file(found.path), found.reason, hint: "correct the file, or remove it")
            return
        }
        self.init(
            at: .value(
                file: found.path, line: problem.line, column: problem.column, pointer: problem.pointer),
            "breaks the rule \(problem.rule.rawValue): found \(problem.found)",
            hint: "allowed: \(problem.allowed); \(problem.rule.passage)")
    }
}
