import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import HandlerKit
import MessageServer
import Replication

/// Gathers the ``DoctorFacts`` of this machine and of a configuration.
enum DoctorExamination {
    /// Examines the machine; `dataDirectory` replaces that of the configuration.
    ///
    /// Throws a ``ConfigurationError`` for a configuration that the server refuses.
    static func facts(
        configurationFile: String, dataDirectory: String?, asksGateway: Bool
    ) async throws -> DoctorFacts {
        let programs = ProgramCheck()
        var configuration = try ConfigurationLoader.load(
            file: configurationFile, environment: ProcessEnvironment.variables(), handlers: programs.handlers)
        configuration.dataDirectory = dataDirectory ?? configuration.dataDirectory
        let path = configuration.dataDirectory
        var facts = DoctorFacts(
            gatewayURL: configuration.gateway.url, dataDirectoryPath: path,
            maximumOpenFiles: OpenFileLimit.raise(), now: SystemClock.secondsSince1970())
        facts.user = FileOwner.currentUser
        facts.minimumFreeBytes = configuration.store.minimumFreeBytes
        facts.warnings = (configuration.warnings + configuration.businesses.warningsAboutPeople).map {
            ("\($0.place) \($0.reason)", $0.hint)
        }
        facts.programs = programs.found.map {
            ("\($0.program) of \($0.request.slug) cannot be started: \($0.error)", $0.advice)
        }
        if let tls = configuration.tls {
            facts.certificates = [(tls.certificateFile, tls.expirySecondsSince1970)]
        }
        if asksGateway { facts.gateway = await gateway(configuration.gateway.url) }
        if let ledger = configuration.store.erasureLedger {
            facts.ledger = (Directory.parent(of: ledger), nil)
            do throws(SystemError) {
                // The server's user needs the right, not root.
                try FileOwner.actAsOwner(of: path)
                try Directory.checkWritable(Directory.parent(of: ledger))
            } catch {
                facts.ledger?.failure = "\(error)"
            }
            do throws(SystemError) { try FileOwner.actAsRealUser() } catch {
                facts.ledger?.failure = "\(error)"
            }
        }
        if let postgres = configuration.postgres {
            do throws(ReplicaError) {
                let (count, isAwaited) = try Replica.standbys(postgres.url)
                facts.database = .answered(standbys: count, isAwaited: isAwaited)
            } catch { facts.database = .failed("\(error)") }
        }
        examine(path, &facts)
        // A server that does not answer is one that does not run.
        if let answer = try? await ControlSocket.request(ControlOperations.status.path, data: path) {
            facts.server = ServerStatus.form.value(answer)
        }
        return facts
    }

    private static func gateway(_ url: String) async -> DoctorFacts.Gateway {
        let request = TransportRequest(
            url: url, timeout: .seconds(10), connectTimeout: .seconds(5),
            allowsPlainHTTP: url.hasPrefix("http://"))
        do throws(TransportError) {
            let transport = try CurlTransport()
            let began = SystemClock.secondsSince1970()
            // Any status will do: the request has no token.
            let answer = try await transport.send(request)
            let ended = SystemClock.secondsSince1970()
            let date = answer.headers.first { $0.name.lowercased() == "date" }?.value
            return .answered(
                date: date.flatMap { BalloonTransport.secondsSince1970($0) }, at: began + (ended - began) / 2,
                roundTripSeconds: ended - began)
        } catch {
            return .failed(error)
        }
    }

    private static func examine(_ path: String, _ facts: inout DoctorFacts) {
        guard Directory.exists(path) else {
            // The space is that of the folder in which the directory will be.
            facts.freeBytes = try? FileSystemSpace.freeBytes(at: Directory.parent(of: path))
            return
        }
        facts.freeBytes = try? FileSystemSpace.freeBytes(at: path)
        do throws(SystemError) {
            let (owner, mode) = try FileStatus.ownerAndMode(of: path)
            var strangers: [String] = []
            for name in try Directory.names(in: path).sorted() {
                let inside = path + "/" + name
                // A file that the server removes meanwhile has no owner.
                if let other = try? FileStatus.ownerAndMode(of: inside), other.owner != owner {
                    strangers.append(inside)
                }
            }
            facts.dataDirectory = .present(owner: owner, mode: mode, strangers: strangers)
        } catch {
            facts.dataDirectory = .unreadable("\(error)")
        }
        facts.sync = sync(in: path)
    }

    /// Writes and syncs 4 KiB sixteen times to a file that is removed afterwards.
    private static func sync(in directory: String) -> DoctorFacts.Sync {
        let path = directory + "/doctor-\(UInt32.random(in: 0 ... .max)).tmp"
        do throws(SystemError) {
            let file = try File(path, for: .creating)
            // A failed removal leaves 64 KiB that no program reads.
            defer { try? Directory.remove(path) }
            var times: [UInt64] = []
            for _ in 0..<16 {
                let began = SystemClock.nanoseconds()
                try file.append([UInt8](repeating: 0x0a, count: 4096))
                try file.synchronizeData()
                times.append(SystemClock.nanoseconds() &- began)
            }
            return .median(microseconds: Int(clamping: times.sorted()[times.count / 2] / 1000))
        } catch {
            return .failed("\(error)")
        }
    }
}
