import BalloonJSON
import BalloonPOSIX
import Payments

/// The files with secrets that a configuration names.
enum SecretFiles {
    /// A warning for each file that every user of the machine can read.
    static func warnings(about files: [String]) -> [ConfigurationProblem] {
        files.filter(FileStatus.isReadableByOthers).map { file in
            ConfigurationProblem(
                at: .file(file), "contains a secret and can be read by every user of this machine",
                hint: "run chmod o-rwx on it, or give it mode 0440 where it is mounted")
        }
    }

    /// The secret files of the businesses' handlers, providers and merchants.
    static func files(of businesses: [BusinessConfiguration]) -> [String] {
        businesses.flatMap { business in
            var files = business.authentication?.secretFiles ?? []
            if let applePay = business.applePay {
                files.append(applePay.merchant.keyFile)
                files += applePay.decryption?.keyFiles ?? []
            }
            let bindings = [business.handler, business.fallback?.binding].compactMap { $0 }
            return files
                + bindings.flatMap(\.secretFiles).map {
                    $0.hasPrefix("/") ? $0 : business.directory + "/" + $0
                }
        }
    }
}

extension HandlerBinding {
    /// The files in `{"http": {"secret": {"file": "PATH"}}}`, where `secret` may be a list.
    fileprivate var secretFiles: [String] {
        guard case .bound(let key, let binding) = self, let secret = binding[key]?["secret"] else {
            return []
        }
        let references = secret.kind == .array ? Array(secret.elements) : [secret]
        return references.compactMap { $0["file"]?.string }
    }
}
