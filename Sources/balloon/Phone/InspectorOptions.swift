import ArgumentParser
import BalloonPOSIX
import MessageServer

/// The options of the inspector's listener.
struct InspectorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The address of the phone's web page; the default is 127.0.0.1:8026, or a free port when it is in use.",
            valueName: "host:port"))
    var inspectorListen: SocketAddress?

    @Option(
        help: ArgumentHelp(
            "A further name under which a browser may open the page; may be repeated.", valueName: "name"))
    var inspectorHost: [String] = []

    @Option(
        help: ArgumentHelp(
            "The page's token, at least 16 characters; needed when --inspector-listen is not a loopback address.",
            valueName: "token"))
    var inspectorToken: String?

    func validate() throws {
        if let inspectorToken {
            guard inspectorToken.utf8.count >= 16,
                inspectorToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw ValidationError("--inspector-token needs at least 16 visible ASCII characters.") }
        }
        guard let inspectorListen else { return }
        guard inspectorListen.port != nil else {
            throw ValidationError("--inspector-listen must be a TCP address.")
        }
        guard inspectorListen.isLoopback || inspectorToken != nil else {
            throw ValidationError("--inspector-listen is not a loopback address and needs --inspector-token.")
        }
    }

    func settings(webFolder: String?) -> InspectorSettings {
        InspectorSettings(
            address: inspectorListen, hosts: inspectorHost,
            token: inspectorToken ?? InspectorSettings.randomToken(), webFolder: webFolder)
    }
}
