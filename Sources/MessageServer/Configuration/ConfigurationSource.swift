import BalloonPOSIX
import Dispatch
package import HandlerKit
import Logging

/// The source of a server's configuration, at the start and for reloads.
package struct ConfigurationSource: Sendable {
    private let file: String
    private let handlers: [any HandlerFactory]
    private let purpose: ConfigurationPurpose
    private let adjust: @Sendable (inout ServerConfiguration) -> Void

    /// Uses the server's file; `adjust` applies command-line options to each loaded configuration.
    package init(
        file: String, handlers: [any HandlerFactory], for purpose: ConfigurationPurpose = .server,
        adjust: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in }
    ) {
        self.file = file
        self.handlers = handlers
        self.purpose = purpose
        self.adjust = adjust
    }

    /// Loads the configuration from its files and the environment; throws all problems together.
    package func load() throws(ConfigurationError) -> ServerConfiguration {
        var configuration = try ConfigurationLoader.load(
            file: file, environment: ProcessEnvironment.variables(), handlers: handlers, for: purpose)
        adjust(&configuration)
        return configuration
    }

    /// Calls `changed` whenever a `.json` file of the server or of a business changes.
    ///
    /// Returns nil, after a warning, when the files cannot be watched.
    func watch(_ logger: Logger, changed: @escaping @Sendable () -> Void) -> DirectoryWatch? {
        let folder = ConfigurationFile.folder(of: file)
        let queue = DispatchQueue(label: "balloon.configuration")
        do throws(SystemError) {
            return try DirectoryWatch(
                [folder.isEmpty ? "." : folder, folder + "businesses"], queue: queue,
                // A Kubernetes volume changes by renaming `..data`, a link to the folder in which all its
                // links find their files.
                wanted: { $0.hasSuffix(".json") || $0.hasPrefix("..") }, changed: changed)
        } catch {
            logger.warning(
                "configuration files cannot be watched; send SIGHUP to reload them",
                metadata: ["error": "\(error)"])
            return nil
        }
    }
}
