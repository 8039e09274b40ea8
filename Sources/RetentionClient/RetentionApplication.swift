package import BalloonPOSIX
package import RetentionMessages

/// One run that brings the App Store to the state of an app's folder: uploads, waits, sets defaults, deletes.
///
/// The run can be interrupted at any point and repeated. Identifiers derive from contents, so the App Store
/// recognizes an upload whose answer was lost. A rejected message or image ends the run before it sets or
/// deletes anything.
package struct RetentionApplication: Sendable {
    /// The result of a run.
    package enum Outcome: Sendable, Equatable {
        /// The App Store has everything, and the defaults are set.
        case done
        /// Apple is still checking these messages and images after the longest wait: run again later.
        case pending([String])
        /// Apple refused these messages and images: change their contents.
        case rejected([String])
    }

    /// One step of a run, to be shown as a line of progress.
    package enum Step: Sendable, Equatable {
        case uploadsImage(String, Progress)
        case uploadsMessage(String, Progress)
        case waits(pending: Int)
        case setsDefault(DefaultMessages.Key)
        case deletesDefault(DefaultMessages.Key)
        case deletesMessage(RetentionID)
        case deletesImage(RetentionID)
    }

    /// The place of an upload among all uploads of a run.
    package struct Progress: Sendable, Equatable {
        /// The number of this upload, from 1.
        package let number: Int
        /// The number of all uploads.
        package let total: Int
        /// The time that the uploads from this one on need by Apple's rate limits.
        package let remaining: Duration
    }

    /// A default message of the folder that the App Store does not have.
    package struct DefaultChange: Sendable, Equatable {
        /// The product and the locale.
        package let key: DefaultMessages.Key
        /// The name of the folder's message.
        package let name: String
        /// The message that the App Store has now; nil when it has none.
        package let current: RetentionID?
    }

    private let api: RetentionAPI
    private let folder: RetentionFolder
    private let statesPath: String
    private let clock: TimeSource
    private let report: @Sendable (Step) -> Void

    /// The interval at which the run requests the states of pending messages and images.
    private static let interval = Duration.seconds(10)

    /// Creates a run that records states in the file at `statesPath`.
    package init(
        _ api: RetentionAPI, _ folder: RetentionFolder, statesPath: String, clock: TimeSource = .system,
        report: @escaping @Sendable (Step) -> Void = { _ in }
    ) {
        self.api = api
        self.folder = folder
        self.statesPath = statesPath
        self.clock = clock
        self.report = report
    }

    /// Requests the states and records them; throws ``RetentionAPIError`` or ``RetentionFileError``.
    package func states() async throws -> RetentionStates {
        let states = RetentionStates(messages: try await api.messages(), images: try await api.images())
        try states.write(to: statesPath)
        return states
    }

    /// Runs all steps, and waits at most `longestWait` for Apple's check.
    package func run(longestWait: Duration) async throws -> Outcome {
        var plan = RetentionPlan(folder, try await states())
        guard plan.rejected.isEmpty else { return .rejected(plan.rejected) }
        try await upload(plan)
        let start = clock.uptime()
        plan = RetentionPlan(folder, try await states())
        while !plan.pending.isEmpty, plan.rejected.isEmpty, clock.uptime() - start < longestWait {
            report(.waits(pending: plan.pending.count))
            try await clock.wait(Self.interval)
            plan = RetentionPlan(folder, try await states())
        }
        guard plan.rejected.isEmpty else { return .rejected(plan.rejected) }
        let missing = plan.uploadedImages.map(\.name) + plan.uploadedMessages.map(\.name)
        guard plan.pending.isEmpty, missing.isEmpty else { return .pending(plan.pending + missing) }
        try await setDefaults()
        try await deleteDefaults()
        try await delete(plan)
        _ = try await states()
        return .done
    }

    private func upload(_ plan: RetentionPlan) async throws {
        let (images, messages) = (plan.uploadedImages.count, plan.uploadedMessages.count)
        for (index, image) in plan.uploadedImages.enumerated() {
            let remaining = api.pacedTime(uploadedImages: images - index, uploadedMessages: messages)
            report(
                .uploadsImage(
                    image.name,
                    Progress(number: index + 1, total: images + messages, remaining: remaining)))
            let png = try Descriptor.open(reading: image.path)
                .readToEnd(maximumBytes: RetentionFolder.maximumImageBytes)
            try await RetentionAPIError.unless(.imageExists) { () async throws(RetentionAPIError) in
                try await api.uploadImage(image.id, image.size, png: png)
            }
        }
        for (index, message) in plan.uploadedMessages.enumerated() {
            let remaining = api.pacedTime(uploadedMessages: messages - index)
            report(
                .uploadsMessage(
                    message.name,
                    Progress(number: images + index + 1, total: images + messages, remaining: remaining)))
            try await RetentionAPIError.unless(.messageExists) { () async throws(RetentionAPIError) in
                try await api.uploadMessage(message.id, message.content)
            }
        }
    }

    /// The default messages that a run would set, because the App Store has none or another one for their
    /// products and locales.
    ///
    /// Asks the App Store for each default of the folder; Apple's rate limits apply.
    package func defaultChanges() async throws(RetentionAPIError) -> [DefaultChange] {
        var changes: [DefaultChange] = []
        for (key, message) in wantedDefaults {
            let current = try await api.defaultMessage(key)
            if current != message.id {
                changes.append(DefaultChange(key: key, name: message.name, current: current))
            }
        }
        return changes
    }

    /// The default messages that the folder names, in the order of their keys.
    private var wantedDefaults: [(key: DefaultMessages.Key, message: RetentionFolder.Message)] {
        folder.defaults.keys.compactMap { key in
            folder.defaults.messages[key].flatMap(folder.message(_:)).map { (key, $0) }
        }
    }

    private func setDefaults() async throws {
        for (key, message) in wantedDefaults {
            report(.setsDefault(key))
            try await set(key, to: message.id)
        }
    }

    /// Records one default message, and then sets it at the App Store.
    package func set(_ key: DefaultMessages.Key, to message: RetentionID) async throws {
        var record = try DefaultsRecord.read(recordPath)
        if record.messages.updateValue(message, forKey: key) != message { try record.write(to: recordPath) }
        try await api.setDefault(key, to: message)
    }

    /// Deletes one default message at the App Store, and then removes it from the record.
    package func delete(_ key: DefaultMessages.Key) async throws {
        try await api.deleteDefault(key)
        var record = try DefaultsRecord.read(recordPath)
        if record.messages.removeValue(forKey: key) != nil { try record.write(to: recordPath) }
    }

    /// The default messages that an earlier run set and that the folder no longer contains.
    package func oldDefaults() throws(RetentionFileError) -> [DefaultMessages.Key] {
        try DefaultsRecord.read(recordPath).keys(without: folder)
    }

    private func deleteDefaults() async throws {
        for key in try oldDefaults() {
            report(.deletesDefault(key))
            try await delete(key)
        }
    }

    private var recordPath: String { DefaultsRecord.path(besides: statesPath) }

    /// Deletes messages before images, because the App Store refuses to delete an image that a message uses.
    private func delete(_ plan: RetentionPlan) async throws {
        for message in plan.deletedMessages {
            report(.deletesMessage(message))
            try await RetentionAPIError.unless(.messageNotFound) { () async throws(RetentionAPIError) in
                try await api.deleteMessage(message)
            }
        }
        for image in plan.deletedImages {
            report(.deletesImage(image))
            try await RetentionAPIError.unless(.imageNotFound) { () async throws(RetentionAPIError) in
                try await api.deleteImage(image)
            }
        }
    }
}
