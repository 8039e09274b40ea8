import BalloonPOSIX
import BalloonTLS

/// A certificate and its key, named by their files in `server.json`; the paths are relative to the folder of `server.json`.
///
/// `{"certificateFile": "PATH", "keyFile": "PATH"}`.
struct TLSReference {
    let certificate: Setting
    let key: Setting

    /// Reads both paths; nil after reporting a problem when either is missing.
    static func read(_ reader: inout ObjectReader) -> TLSReference? {
        reader.require("certificateFile", "keyFile", hint: "name the certificate's file and the key's")
        guard let certificate = reader.text("certificateFile"), let key = reader.text("keyFile") else {
            return nil
        }
        return TLSReference(certificate: certificate, key: key)
    }

    /// Returns the paths when the files can be read and match; nil after reporting a problem.
    func resolved(folder: String, noting problems: inout [ConfigurationProblem]) -> TLSFiles? {
        let read = { (text: String) throws(InvalidSetting) -> String in
            let path = try SettingFormat.path(text)
            return try readable(path.hasPrefix("/") ? path : folder + path)
        }
        guard let certificateFile = certificate.parsed(read, noting: &problems),
            let keyFile = key.parsed(read, noting: &problems)
        else { return nil }
        do {
            _ = try TLSCredentials(certificateFile: certificateFile, keyFile: keyFile)
        } catch {
            problems.append(TLSFiles.problem(error, at: certificate.place))
            return nil
        }
        return TLSFiles(certificateFile: certificateFile, keyFile: keyFile)
    }
}

/// Returns `path`; throws when the file cannot be opened.
///
/// Files are checked before OpenSSL reads them, because its errors do not name the file.
private func readable(_ path: String) throws(InvalidSetting) -> String {
    do {
        _ = try Descriptor.open(reading: path)
        return path
    } catch {
        throw InvalidSetting("names a file that cannot be read: \(error)", hint: "check its path and mode")
    }
}
