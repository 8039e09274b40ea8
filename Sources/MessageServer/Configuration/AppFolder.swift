import BalloonPOSIX
import BalloonWire
import HandlerKit
import RetentionClient

/// The folder that holds one file and one folder for each app.
enum AppFolder {
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
        let names = ConfigurationFile.names(
            in: folder, hint: "check its path and mode", noting: &problems)
        var apps: [AppConfiguration] = []
        for name in names ?? [] {
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
        let (folder, found) = RetentionFolder.read(Directory.parent(of: file) + "/" + slug)
        let app = ObjectReader.read(root, file: file, noting: &problems) {
            read(&$0, slug, folder, handlers)
        }
        problems += found.filter(\.isError).map { ConfigurationProblem($0) }
        warnings += found.filter { !$0.isError }.map { ConfigurationProblem($0) }
        if let app, app.root != .appleG3 {
            warnings.add(
                at: .file(file), "has a \"rootFile\" that is not Apple Root CA - G3",
                hint: "remove the key, unless this is a simulation")
        }
        return app
    }

    private static func read(
        _ reader: inout ObjectReader, _ slug: String, _ folder: RetentionFolder,
        _ handlers: [any HandlerFactory]?
    ) -> AppConfiguration? {
        reader.require(
            "bundleID", "appleID", "issuerID", "keyID", "keyFile", hint: "add it; App Store Connect shows it")
        let copy = "copy it from App Store Connect"
        let bundleID = reader.word("bundleID", maximum: 255, hint: copy)
        let appleID = reader.integer("appleID", in: 1...Int(Int32.max) * 64)
        let issuerID = reader.word("issuerID", maximum: 255, hint: copy)
        let keyID = reader.word("keyID", maximum: 255, hint: copy)
        let keyFile = reader.text("keyFile")
        let key = keyFile.flatMap {
            reader.signingKey(
                $0, [.es256], "is not an in-app purchase key",
                hint: "use the .p8 file of App Store Connect unchanged")
        }
        let certificate =
            reader.has("rootFile")
            ? reader.text("rootFile").flatMap {
                reader.rootCertificate($0, hint: "remove the key: Apple Root CA - G3 is in the program")
            } : .appleG3
        let noAnswer: AppConfiguration.NoAnswer? = reader.choice(
            "noAnswer", "is not an answer", hint: "use empty or 503")
        let days = reader.integer("decisionDays", in: 1...3650)
        let handler = reader.object("handler") {
            HandlerBinding.read(
                &$0, of: BusinessID(bundleID ?? ""), slug: slug, deadline: .seconds(1), handlers)
        }
        let budget = reader.integer("budgetMilliseconds", in: budgets)
        let concurrency = reader.integer("concurrency", in: 1...1024)
        let refresh = reader.integer("stateRefreshMinutes", in: 0...1440)
        guard let bundleID, let issuerID, let keyID, let appleID, let keyFile, let key, let certificate else {
            return nil
        }
        let identity = AppIdentity(
            bundleID: bundleID, appleID: appleID, issuerID: issuerID, keyID: keyID, key: key)
        var app = AppConfiguration(slug: slug, identity: identity, root: certificate, folder: folder)
        app.noAnswer = noAnswer ?? app.noAnswer
        app.decisionDays = days ?? app.decisionDays
        app.keyFile = reader.absolute(keyFile.text)
        app.handler = handler
        app.directory = reader.directory
        app.budget = budget.map { .milliseconds($0) } ?? app.budget
        if let refresh { app.refreshInterval = refresh == 0 ? nil : .seconds(refresh * 60) }
        app.concurrency = concurrency ?? app.concurrency
        return app
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
