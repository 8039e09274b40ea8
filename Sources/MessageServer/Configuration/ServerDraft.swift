import BalloonJSON
import BalloonPOSIX
import BalloonWire
import Replication

/// The server's settings during loading: the settings of the file, and of the environment, which override
/// them.
struct ServerDraft {
    let purpose: ConfigurationPurpose
    let file: ServerFile
    let environment: EnvironmentSettings
    /// The secret that the file references; ignored when the environment gives one.
    let referencedSecret: Setting?
    /// The MSP's previous secret, which the file references.
    let previousSecret: Setting?
    /// The database of the store; nil without one or after a problem.
    let postgres: ReplicaSettings?
    /// The TLS files; nil when there are none or after a problem.
    let tls: TLSFiles?

    /// Reads the server's file and the environment.
    init(
        _ path: String, _ folder: String, _ variables: [String: String], _ purpose: ConfigurationPurpose,
        noting problems: inout [ConfigurationProblem]
    ) {
        self.purpose = purpose
        file =
            ConfigurationFile.document(path, noting: &problems)
            .map { ServerFile($0.root, file: path, noting: &problems) } ?? ServerFile(unreadable: path)
        environment = EnvironmentSettings(
            variables,
            named: [file.secret, file.previousSecret].compactMap { $0?.variableName }
                + (file.settings.store.postgres?.variableNames ?? []), noting: &problems)
        // A reference is resolved only when it is used: when the environment gives the secret, its file may
        // be absent.
        referencedSecret =
            environment.given.contains(.secret) || purpose == .development
            ? nil : file.secret?.resolved(in: variables, folder: folder, noting: &problems)
        previousSecret =
            purpose == .server
            ? file.previousSecret?.resolved(
                in: variables, folder: folder, hint: "set it to the previous secret, or remove the key",
                noting: &problems) : nil
        postgres =
            purpose == .server
            ? file.settings.store.postgres?.resolved(in: variables, folder: folder, noting: &problems) : nil
        // The TLS files are not read for a program that only needs to know whether the server uses TLS.
        tls =
            switch purpose {
            case .server: file.tls?.resolved(folder: folder, noting: &problems)
            case .development: nil
            case .customer:
                file.tls.map { TLSFiles(certificateFile: $0.certificate.text, keyFile: $0.key.text) }
            }
    }

    /// The complete configuration; nil when a required value is missing or invalid.
    func configuration(
        businesses: [BusinessConfiguration], noting problems: inout [ConfigurationProblem]
    ) -> ServerConfiguration? {
        let mspID = value(.mspID, SettingFormat.identifier, noting: &problems)
        let secret =
            purpose == .development
            ? .random(byteCount: 32)
            : (environment[.secret] ?? referencedSecret)?.parsed(SettingFormat.secret, noting: &problems)
        let publicURL = value(.publicURL, SettingFormat.publicURL, noting: &problems)
        let listen = value(.listen, SettingFormat.listener, noting: &problems)
        let adminListen = value(.adminListen, SettingFormat.adminListener, noting: &problems)
        let inspector = inspector(noting: &problems)
        let dataDirectory = value(.dataDirectory, SettingFormat.path, noting: &problems)
        let gateway = gateway(noting: &problems)
        reportMissing(in: &problems)
        guard let mspID, let secret else { return nil }
        var result = file.settings
        (result.mspID, result.secret, result.businesses) = (mspID, secret, businesses)
        result.previousSecret = previousSecret?.parsed(SettingFormat.secret, noting: &problems)
        result.publicURL = publicURL
        result.listen = listen ?? result.listen
        result.adminListen = adminListen ?? (purpose == .development ? .off : .standard)
        result.inspector = inspector
        result.tls = tls
        result.postgres = postgres
        result.dataDirectory = dataDirectory ?? result.dataDirectory
        result.gateway = gateway
        return result
    }

    /// The files of the MSP's secret, of the TLS key and of the keys that seal a store.
    func secretFiles(_ folder: String, _ variables: [String: String]) -> [String] {
        let secret =
            environment.given.contains(.secret)
            ? variables[EnvironmentKey.secret.fileVariable] : file.secret?.path(in: folder)
        let sealKeys = file.settings.store.postgres?.keyPaths(in: folder) ?? []
        return [tls?.keyFile, secret, file.previousSecret?.path(in: folder)].compactMap { $0 } + sealKeys
    }

    /// Returns the environment's value, or else the file's; checks both, so that a wrong value in the file is
    /// reported.
    private func value<Value>(
        _ key: EnvironmentKey, _ parse: (String) throws(InvalidSetting) -> Value,
        noting problems: inout [ConfigurationProblem]
    ) -> Value? {
        let written = file.texts[key]?.parsed(parse, noting: &problems)
        return environment[key]?.parsed(parse, noting: &problems) ?? written
    }

    /// Returns the inspector's settings; nil unless the configuration names an address for it.
    ///
    /// The inspector's token comes only from the environment.
    private func inspector(noting problems: inout [ConfigurationProblem]) -> InspectorSettings? {
        let token = environment[.inspectorToken]?.parsed(SettingFormat.inspectorToken, noting: &problems)
        guard let listen = value(.inspectorListen, SettingFormat.inspectorListener, noting: &problems),
            let address = listen, purpose == .server
        else { return nil }
        guard let token else {
            if !environment.given.contains(.inspectorToken) {
                problems.add(
                    at: file.place, "has \"inspectorListen\", but there is no token for it",
                    hint: "set BALLOON_INSPECTOR_TOKEN or BALLOON_INSPECTOR_TOKEN_FILE")
            }
            return nil
        }
        return InspectorSettings(address: address, token: token)
    }

    private func gateway(noting problems: inout [ConfigurationProblem]) -> GatewayAddress {
        var gateway = file.settings.gateway
        gateway.url = value(.gatewayURL, SettingFormat.gatewayURL, noting: &problems) ?? gateway.url
        gateway.downloadHosts =
            file.downloadHosts?.compactMap { $0.parsed(SettingFormat.downloadHost, noting: &problems) }
            ?? gateway.downloadHosts
        gateway.agent = file.agent?.parsed(SettingFormat.agent, noting: &problems) ?? gateway.agent
        return gateway
    }

    private func reportMissing(in problems: inout [ConfigurationProblem]) {
        for (name, key) in file.missing where !environment.given.contains(key) {
            if key == .secret, purpose == .development { continue }
            let hint = "add it, or set \(key.rawValue) or \(key.fileVariable)"
            problems.add(at: file.place, "has no \"\(name)\"", hint: hint)
        }
    }
}
