import ArgumentParser
import BalloonPOSIX
import MessageServer

/// The options of the inspector's listener.
struct InspectorOptions: ParsableArguments {
    @Option(
        help: .value(
            "host:port",
            "The address of the phone's web page; the default is 127.0.0.1:8026, or a free port when it is in use."
        ))
    var inspectorListen: SocketAddress?

    @Option(help: .value("name", "A further name under which a browser may open the page; may be repeated."))
    var inspectorHost: [String] = []

    @Option(
        help: .value(
            "token",
            "The page's token, at least 16 characters; needed when --inspector-listen is not a loopback address."
        ))
    var inspectorToken: String?

    func validate() throws {
        if let inspectorToken {
            try require(
                inspectorToken.utf8.count >= 16
                    && inspectorToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                "--inspector-token needs at least 16 visible ASCII characters.")
        }
        guard let inspectorListen else { return }
        try require(inspectorListen.port != nil, "--inspector-listen must be a TCP address.")
        try require(
            inspectorListen.isLoopback || inspectorToken != nil,
            "--inspector-listen is not a loopback address and needs --inspector-token.")
    }

    func settings(webFolder: String?) -> InspectorSettings {
        InspectorSettings(
            address: inspectorListen, hosts: inspectorHost,
            token: inspectorToken ?? InspectorSettings.randomToken(), webFolder: webFolder)
    }
}
