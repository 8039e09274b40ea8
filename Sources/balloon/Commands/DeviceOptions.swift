import ArgumentParser
import BusinessMessages
import Simulator

/// The options that describe a simulated customer's device.
struct DeviceOptions: ParsableArguments {
    /// A device, whose operating system decides what it can show.
    enum Device: String, CaseIterable, ExpressibleByArgument {
        case iphone, ipad, mac
        case oldIPhone = "old-iphone"

        /// The device with this name; `older` is the name of an old iPhone in earlier recordings.
        init?(_ name: String) {
            self.init(rawValue: name == "older" ? Self.oldIPhone.rawValue : name)
        }

        init?(argument: String) { self.init(argument) }

        /// The names, as a sentence lists them.
        static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

        /// The interactive messages that the device can show.
        ///
        /// A Mac shows no forms; an old iPhone shows neither forms nor quick replies, nor the newer sign-in.
        var capabilities: Capabilities {
            switch self {
            case .iphone, .ipad:
                [.quickReply, .listPicker, .timePicker, .authentication, .authentication2, .form]
            case .mac: [.quickReply, .listPicker, .timePicker, .authentication, .authentication2]
            case .oldIPhone: [.listPicker, .timePicker, .authentication]
            }
        }
    }

    @Option(help: "The customer's device, which has the capabilities of its system.")
    var device = Device.iphone

    @Option(
        help: .value(
            "list",
            "The capabilities, instead of those of --device, as Apple sends them: QUICK,LIST,TIME,AUTH,AUTH2,FORM."
        ))
    var capabilities: String?

    @Option(help: .value("locale", "The device's language and region, such as de_DE."))
    var locale: String?

    @Option(help: .value("text", "The purpose that the customer's link to the business names."))
    var intent: String?

    @Option(help: .value("text", "The department that the customer's link to the business names."))
    var group: String?

    /// Returns the given customer with the device of these options.
    func applied(to customer: SimulatedCustomer) -> SimulatedCustomer {
        var customer = customer
        customer.capabilities = capabilities.map { Capabilities(parsing: $0) } ?? device.capabilities
        customer.locale = locale
        customer.intent = intent
        customer.group = group
        return customer
    }
}
