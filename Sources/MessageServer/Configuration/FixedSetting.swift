/// A setting that a reload cannot apply, with the functions that keep it and report its change.
struct FixedSetting: Sendable {
    /// The key in the server's file.
    let key: String
    fileprivate let isEqual: @Sendable (ServerConfiguration, ServerConfiguration) -> Bool
    /// Copies the setting from the first configuration to the second.
    fileprivate let copy: @Sendable (ServerConfiguration, inout ServerConfiguration) -> Void

    private init<Value: Equatable & SendableMetatype>(
        _ key: String, _ path: any WritableKeyPath<ServerConfiguration, Value> & Sendable
    ) {
        self.init(
            key, isEqual: { $0[keyPath: path] == $1[keyPath: path] },
            copy: { $1[keyPath: path] = $0[keyPath: path] })
    }

    private init(
        _ key: String, isEqual: @escaping @Sendable (ServerConfiguration, ServerConfiguration) -> Bool,
        copy: @escaping @Sendable (ServerConfiguration, inout ServerConfiguration) -> Void
    ) {
        self.key = key
        self.isEqual = isEqual
        self.copy = copy
    }

    /// Every setting that needs a restart, with the reason.
    static let all = [
        // Another identity is another registration with Apple: the conversations belong to the old one.
        FixedSetting("mspID", \.mspID),
        // The sockets are bound before the process may drop the right to bind them, or by the service manager.
        FixedSetting("listen", \.listen),
        FixedSetting("adminListen", \.adminListen),
        FixedSetting("inspectorListen", \.inspector),
        // A listener speaks TLS from its first connection on or never; renewed files of the same names are read by
        // a reload.
        FixedSetting("tls", \.tls),
        // The directory is locked, and its journal is open.
        FixedSetting("dataDirectory", \.dataDirectory),
        // The store's owner is decided before the start.
        FixedSetting("store/postgres", \.postgres),
        // A connection stays on its shard, which is a thread with buffers and open requests.
        FixedSetting("limits/shards", \.limits.shards),
        // The routes of a listener are made at the start.
        FixedSetting("landing", \.hasLandingPage),
        FixedSetting(
            "apps", isEqual: { !$0.apps.isEmpty || $1.apps.isEmpty },
            copy: { if $0.apps.isEmpty { $1.apps = [] } }),
    ]
}

extension ServerConfiguration {
    /// The keys that differ in `other` and need a restart; a reload applies every other key.
    func settingsThatNeedRestart(comparedTo other: ServerConfiguration) -> [String] {
        FixedSetting.all.filter { !$0.isEqual(self, other) }.map(\.key)
    }

    /// Returns `other` with the settings of this configuration that need a restart.
    func applying(_ other: ServerConfiguration) -> ServerConfiguration {
        var applied = other
        for setting in FixedSetting.all { setting.copy(self, &applied) }
        // The settings of no file.
        applied.inheritedSockets = inheritedSockets
        applied.webFolder = webFolder
        applied.retrySchedule = retrySchedule
        return applied
    }
}
