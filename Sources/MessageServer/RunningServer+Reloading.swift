import BalloonHTTP
import BalloonPOSIX
import BalloonTLS
import GatewayClient
import HandlerKit
import Logging
import MessageStore
import SignIn
import Synchronization

/// The reload of the configuration.
extension RunningServer {
    /// Reloads the businesses, and the certificate and its key for new connections.
    ///
    /// An unusable configuration is logged as an error, and the businesses are replaced all together or not
    /// at all. The certificate is reloaded even then. Only handlers whose own section changed are restarted,
    /// without losing or reordering events. Calls must not overlap.
    ///
    /// Returns when the settings are in effect. The returned task ends when the new handlers are started: an old
    /// handler may process its events for an hour, and the next reload, which may remove a stolen token, must not
    /// wait for it.
    @discardableResult
    package func reload(
        _ load: () throws(ConfigurationError) -> ServerConfiguration
    ) async -> Task<Void, Never>? {
        do throws(ConfigurationError) {
            let wanted = try load()
            let new = try making.make(wanted) { registry[$0]?.fingerprint }
            let newOfApps = try making.makeForApps(wanted) { retention?.fingerprint(of: $0) }
            if isDraining.isSet { return nil }
            configuration.replace(with: wanted)
            api.access.replace(with: wanted.api, businesses: wanted.businesses)
            events.endRemoved()
            applySettings()
            await http.apply(configuration.http, toListener: 0)
            reloadCertificate()
            let ended = retention?.change(to: wanted.apps, handlers: newOfApps)
            let (change, started) = registry.change(
                to: Set(wanted.businesses.map(\.businessID)), replacing: new)
            isReloaded.isSet = true
            log(change, configuration.initial.settingsThatNeedRestart(comparedTo: wanted))
            return Task {
                await ended?.value
                await started.value
            }
        } catch {
            isReloaded.isSet = false
            for problem in error.problems {
                logger.error(
                    "configuration not reloaded; the old configuration stays in effect",
                    metadata: ["problem": "\(problem)"])
            }
            reloadCertificate()
            return nil
        }
    }

    /// Passes the configuration in effect to the parts that know no configuration, or derive something from it.
    ///
    /// Every other part reads the setting at the time of use.
    func applySettings() {
        let configuration = configuration.value
        let (businesses, limits) = (configuration.businesses, configuration.limits)
        pipelines.gateway.apply(GatewayConfiguration(configuration))
        store.apply(configuration.store.configuration(directory: configuration.dataDirectory))
        do throws(StoreError) { try store.checkLedger() } catch {
            logger.error(
                "the ledger of erasures cannot be used; erasures and backups are refused",
                metadata: ["error": "\(error)"])
        }
        store.keepIndex(!configuration.api.tokens.isEmpty || businesses.removeMessages)
        store.limitReferences(
            slots: limits.referenceConcurrency, share: limits.referenceShare(among: businesses.count))
        let quotas = businesses.compactMap { business in
            business.maximumPendingMessages.map { (business.businessID, $0) }
        }
        store.limitPending(
            Dictionary(quotas) { first, _ in first },
            others: max(1, configuration.store.maximumPendingDeliveries / 4))
        let attachments = configuration.attachments
        pipelines.deliveries.attachments.slots.resize(
            to: attachments.concurrency, share: attachments.share(among: businesses.count))
        labels.change(to: businesses)
        merchantCertificates.change(to: businesses)
        payments.forbidCoreDumps()
    }

    private func log(_ change: HandlerRegistry.Change, _ needRestart: [String]) {
        logger.notice(
            "configuration reloaded",
            metadata: [
                "added": "\(change.added.joined(separator: ","))",
                "replaced": "\(change.replaced.joined(separator: ","))",
                "removed": "\(change.removed.joined(separator: ","))", "unchanged": "\(change.unchanged)",
            ])
        guard !needRestart.isEmpty else { return }
        logger.warning(
            "some changes of the configuration take effect only after a restart",
            metadata: ["keys": "\(needRestart.joined(separator: ","))"]
        )
    }

    private func reloadCertificate() {
        guard let tls else { return }
        do {
            try tls.reload()
            logger.notice("certificate reloaded")
        } catch {
            logger.error("certificate not reloaded", metadata: ["reason": "\(error)"])
        }
    }
}
