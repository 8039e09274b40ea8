/// The settings that the environment may give, by the names of their variables.
///
/// `NAME_FILE` names a file that holds the value, for each of them.
enum EnvironmentKey: String, CaseIterable {
    case mspID = "BALLOON_MSP_ID"
    case secret = "BALLOON_SECRET"
    case publicURL = "BALLOON_PUBLIC_URL"
    case listen = "BALLOON_LISTEN"
    case dataDirectory = "BALLOON_DATA_DIRECTORY"
    case gatewayURL = "BALLOON_GATEWAY_URL"

    /// The key of the server's file, when it holds a text at the top.
    var fileKey: String? {
        switch self {
        case .mspID: "mspID"
        case .publicURL: "publicURL"
        case .listen: "listen"
        case .dataDirectory: "dataDirectory"
        case .secret, .gatewayURL: nil
        }
    }

    /// The variable that names the value's file.
    var fileVariable: String { rawValue + "_FILE" }
}
