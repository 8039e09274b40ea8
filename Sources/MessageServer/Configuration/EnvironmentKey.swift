/// The settings that the environment may override, with their variables.
///
/// For each of them, `NAME_FILE` names a file that contains the value.
enum EnvironmentKey: String, CaseIterable {
    case mspID = "BALLOON_MSP_ID"
    case secret = "BALLOON_SECRET"
    case publicURL = "BALLOON_PUBLIC_URL"
    case listen = "BALLOON_LISTEN"
    case adminListen = "BALLOON_ADMIN_LISTEN"
    case inspectorListen = "BALLOON_INSPECTOR_LISTEN"
    case inspectorToken = "BALLOON_INSPECTOR_TOKEN"
    case dataDirectory = "BALLOON_DATA_DIRECTORY"
    case gatewayURL = "BALLOON_GATEWAY_URL"

    /// The setting's key in the server's file; nil when the setting is not a text at the top level.
    var fileKey: String? {
        switch self {
        case .mspID: "mspID"
        case .publicURL: "publicURL"
        case .listen: "listen"
        case .adminListen: "adminListen"
        case .inspectorListen: "inspectorListen"
        case .dataDirectory: "dataDirectory"
        case .secret, .inspectorToken, .gatewayURL: nil
        }
    }

    /// The variable that names a file with the value.
    var fileVariable: String { rawValue + "_FILE" }
}
