internal import CCurl

/// libcurl's multi handle with its transfers; belongs to one isolation domain.
@safe final class CurlEngine {
    /// The multi handle; nil until the first request, which loads libcurl.
    private var multi: UnsafeMutableRawPointer?
    // libcurl's callbacks write to this storage, so it must not move.
    private let events: UnsafeMutablePointer<balloon_curl_events>
    /// The transfers by the address of the easy handle.
    private var transfers: [UInt: CurlTransfer] = [:]

    /// Creates an engine without transfers; throws `TransportError.failed` when no descriptors are left.
    init() throws(TransportError) {
        unsafe events = .allocate(capacity: 1)
        unsafe events.initialize(to: balloon_curl_events(epoll: -1, timer: -1))
        guard unsafe balloon_curl_events_open(events) == 0 else {
            throw TransportError(CURLE_FAILED_INIT)
        }
    }

    deinit {
        for transfer in transfers.values { cancel(transfer) }
        // The cleanup closes connections and removes them from the epoll set, so the set must still be open.
        if let multi = unsafe multi { unsafe balloon_curl_multi_cleanup(multi) }
        unsafe balloon_curl_events_close(events)
        unsafe events.deallocate()
    }

    /// An epoll descriptor that is readable when ``run()`` has work; it stays open as long as the engine
    /// exists.
    var descriptor: Int32 { unsafe events.pointee.epoll }

    /// Starts `request`.
    ///
    /// Resumes `continuation` with an error when the request was already cancelled or cannot be started.
    func start(_ request: TransportRequest, ticket: TransferTicket, continuation: CurlTransfer.Continuation) {
        do throws(TransportError) {
            guard !ticket.isCancelled else { throw .cancelled }
            let multi = try unsafe loadedMulti()
            let transfer = try CurlTransfer(request, ticket: ticket, continuation: continuation)
            guard unsafe balloon_curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else {
                throw TransportError(CURLE_OUT_OF_MEMORY)
            }
            transfers[transfer.address] = transfer
        } catch {
            return continuation.resume(returning: .failure(error))
        }
        run()
    }

    /// Cancels the transfer of `ticket`, if it is in flight: closes its connection or its HTTP/2 stream.
    func cancel(_ ticket: TransferTicket) {
        guard let transfer = transfers.values.first(where: { $0.ticket === ticket }) else { return }
        cancel(transfer)
    }

    private func cancel(_ transfer: CurlTransfer) {
        remove(transfer)
        transfer.cancel()
    }

    /// Returns the multi handle; the first call loads libcurl and creates the handle.
    private func loadedMulti() throws(TransportError) -> UnsafeMutableRawPointer {
        if let multi = unsafe multi { return unsafe multi }
        guard balloon_curl_load() == 1, let multi = unsafe balloon_curl_multi_init() else {
            throw TransportError(CURLE_FAILED_INIT)
        }
        unsafe balloon_curl_events_attach(events, multi)
        unsafe self.multi = multi
        return unsafe multi
    }

    /// Performs all work that does not block, and resumes the callers whose transfers have completed.
    func run() {
        guard let multi = unsafe multi else { return }
        unsafe balloon_curl_events_run(events, multi)
        var left: Int32 = 0
        while let message = unsafe balloon_curl_multi_info_read(multi, &left) {
            // The message is only valid until the handle is removed.
            let code = unsafe message.pointee.data.result
            guard unsafe message.pointee.msg == CURLMSG_DONE,
                let transfer = unsafe transfers[UInt(bitPattern: message.pointee.easy_handle)]
            else { continue }
            remove(transfer)
            transfer.finish(code)
        }
    }

    private func remove(_ transfer: CurlTransfer) {
        if let multi = unsafe multi { unsafe balloon_curl_multi_remove_handle(multi, transfer.easy) }
        transfers[transfer.address] = nil
    }
}

extension CurlTransfer {
    fileprivate var address: UInt { unsafe UInt(bitPattern: easy) }
}
