import ArgumentParser
import BalloonPOSIX
import MessageServer
import RetentionClient
import RetentionMessages

/// `balloon retention images`: the images at the App Store, one by one.
struct RetentionImages: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "images", abstract: "List, upload or delete images; apply does it for a whole folder.",
        subcommands: [List.self, Upload.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the identifiers with their states.")

        @OptionGroup var options: RetentionOptions

        func run() async throws {
            let target = try options.target()
            RetentionListing.print(try await target.api.images(), target.images)
        }
    }

    struct Upload: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Upload an image of the folder, and print its identifier.")

        @OptionGroup var options: ConfirmedRetentionOptions

        @Argument(help: .value("name", "The file's name in the folder images."))
        var name: String

        func run() async throws {
            let target = try options.target()
            guard let image = target.app.folder.images.first(where: { $0.name == name }) else {
                throw RetentionListing.unknown(name, among: target.images)
            }
            let png = try Descriptor.open(reading: image.path)
                .readToEnd(maximumBytes: RetentionFolder.maximumImageBytes)
            try await RetentionAPIError.unless(.imageExists) { () async throws(RetentionAPIError) in
                try await target.api.uploadImage(image.id, image.size, png: png)
            }
            StandardStream.output.write("\(image.id)\n")
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an image that no message has any more.")

        @OptionGroup var options: ConfirmedRetentionOptions

        @Argument(help: .value("id", "The image's identifier, or its name in the folder."))
        var name: String

        func run() async throws {
            let target = try options.target()
            try await target.api.deleteImage(RetentionListing.id(name, among: target.images))
        }
    }
}

/// `balloon retention messages`: the messages at the App Store, one by one.
struct RetentionTexts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages",
        abstract: "List, upload or delete messages; apply does it for a whole folder.",
        subcommands: [List.self, Upload.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the identifiers with their states.")

        @OptionGroup var options: RetentionOptions

        func run() async throws {
            let target = try options.target()
            RetentionListing.print(try await target.api.messages(), target.messages)
        }
    }

    struct Upload: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Upload a message of the folder, and print its identifier.")

        @OptionGroup var options: ConfirmedRetentionOptions

        @Argument(help: .value("name", "The message's name in the folder."))
        var name: String

        func run() async throws {
            let target = try options.target()
            guard let message = target.app.folder.message(name) else {
                throw RetentionListing.unknown(name, among: target.messages)
            }
            try await RetentionAPIError.unless(.messageExists) { () async throws(RetentionAPIError) in
                try await target.api.uploadMessage(message.id, message.content)
            }
            StandardStream.output.write("\(message.id)\n")
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a message.")

        @OptionGroup var options: ConfirmedRetentionOptions

        @Argument(help: .value("id", "The message's identifier, or its name in the folder."))
        var name: String

        func run() async throws {
            let target = try options.target()
            try await target.api.deleteMessage(RetentionListing.id(name, among: target.messages))
        }
    }
}

/// `balloon retention defaults`: the default messages at the App Store, one by one.
struct RetentionDefaults: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults",
        abstract: "List, get, set or delete default messages; apply does it for a whole folder.",
        subcommands: [List.self, Get.self, Set.self, Delete.self])

    /// The product and locale of a default message.
    struct Place: ParsableArguments {
        @Argument(help: .value("productId", "The product."))
        var product: String

        @Argument(help: .value("locale", "The locale's short code, such as en-US."))
        var locale: String

        func key() throws(CommandFailure) -> DefaultMessages.Key {
            guard let product = ProductID(product) else {
                throw .unknownArgument(
                    "the product", reason: "has other characters than letters, digits, . - and _",
                    hint: "copy it from App Store Connect")
            }
            guard let locale = StoreLocale(locale) else {
                throw .unknownArgument(
                    "the locale", reason: "is not a locale short code of the App Store",
                    hint: "write it as in en-US")
            }
            return DefaultMessages.Key(product, locale)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the defaults of the folder, with what the App Store has for each.",
            discussion: "The App Store cannot list defaults, so those of other products are not shown.")

        @OptionGroup var options: RetentionOptions

        func run() async throws {
            let target = try options.target()
            for key in target.app.folder.defaults.keys + (try target.application.oldDefaults()) {
                let id = try await target.api.defaultMessage(key)
                let name = id.flatMap { target.app.folder.message($0.text)?.name } ?? "(not in the folder)"
                StandardStream.output.write(
                    "\(key.product) \(key.locale) \(id.map { "\($0) \(terminalText(name))" } ?? "none")\n")
            }
        }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the message of a product and locale.")

        @OptionGroup var options: RetentionOptions
        @OptionGroup var place: Place

        func run() async throws {
            let id = try await options.target().api.defaultMessage(place.key())
            StandardStream.output.write((id?.text ?? "none") + "\n")
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an approved message the default of a product and locale.")

        @OptionGroup var options: ConfirmedRetentionOptions
        @OptionGroup var place: Place

        @Argument(help: .value("message", "The message's name in the folder, or its identifier."))
        var message: String

        func run() async throws {
            let target = try options.target()
            let id = try RetentionListing.id(message, among: target.messages)
            try await target.application.set(try place.key(), to: id)
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete the default of a product and locale; the App Store then asks nothing about it.")

        @OptionGroup var options: ConfirmedRetentionOptions
        @OptionGroup var place: Place

        func run() async throws {
            try await options.target().application.delete(try place.key())
        }
    }
}

/// The options of a command that changes something at the App Store.
struct ConfirmedRetentionOptions: ParsableArguments {
    @OptionGroup var options: RetentionOptions

    @Flag(help: "Confirm a change of the production environment.")
    var yes = false

    func target() throws -> RetentionOptions.Target {
        let target = try options.target()
        try target.confirm(yes)
        return target
    }
}

/// An image or a message of an app's folder.
private typealias NamedItem = (name: String, id: RetentionID)

extension RetentionOptions.Target {
    fileprivate var images: [NamedItem] { app.folder.images.map { ($0.name, $0.id) } }
    fileprivate var messages: [NamedItem] { app.folder.messages.map { ($0.name, $0.id) } }
}

/// The functions that the commands for images, messages and defaults share.
private enum RetentionListing {
    static func print(_ states: [RetentionID: RetentionState], _ known: [NamedItem]) {
        for (id, state) in states.sorted(by: { $0.key.text < $1.key.text }) {
            let name = known.first { $0.id == id }?.name ?? "(not in the folder)"
            StandardStream.output.write("\(id) \(state.rawValue) \(terminalText(name))\n")
        }
    }

    /// Returns the identifier of the item with this name; `text` may also be the identifier.
    static func id(_ text: String, among known: [NamedItem]) throws(CommandFailure) -> RetentionID {
        guard let id = known.first(where: { $0.name == text })?.id ?? RetentionID(text) else {
            throw unknown(text, among: known)
        }
        return id
    }

    static func unknown(_ name: String, among known: [NamedItem]) -> CommandFailure {
        .unknownArgument(
            terminalText(name), reason: "is not in the app's folder",
            hint: "the names are \(terminalText(known.map(\.name).joined(separator: ", ")))")
    }
}
