public import Einlass
import EinlassSystem

/// Sends HTTP requests through libcurl: TLS verified, limits enforced, redirects left to the caller.
///
/// One thread does all transfers. It starts with the first request, keeps connections alive from one request
/// to the next, and ends when there was nothing to do for a minute. libcurl is opened with the first request.
public final class CurlClient: Sendable {
  /// What a person may set about the network.
  public struct Configuration: Sendable, Equatable {
    /// A PEM file with certificates to trust *in addition to* the system's, so that naming a private
    /// authority does not lock out the public ones.
    public var caFile: String?
    /// A proxy's address; `nil` follows the standard variables (`https_proxy`, `all_proxy`), "" means none.
    /// `no_proxy` is honoured either way, and literal loopback addresses are never asked of a proxy.
    public var proxy: String?
    /// Sent as `User-Agent`, without which some providers refuse.
    public var userAgent = "einlass"
    public var limits = TransferLimits()

    public init(caFile: String? = nil, proxy: String? = nil) {
      self.caFile = caFile
      self.proxy = proxy
    }
  }

  private let configuration: Configuration
  private let loop: CurlLoop

  /// Costs nothing before the first request.
  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    loop = CurlLoop(idle: configuration.limits.idle)
  }

  deinit { loop.close(waiting: false) }

  /// One request and its whole answer, whatever its status.
  ///
  /// Throws `cancelled` as soon as the task is, else `networkFailure` with an NSURLErrorDomain number.
  public func send(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    do {
      return try await transfer(request).get()
    } catch {
      throw error.problem(host: request.address.host, caFile: configuration.caFile)
    }
  }

  /// Aborts what is under way, waits for the thread to end and refuses what comes later. Takes milliseconds.
  public func close() { loop.close(waiting: true) }

  private func transfer(_ request: HTTPRequest) async -> Result<HTTPResponse, TransferFault> {
    let transfer: CurlTransfer
    do {
      transfer = try CurlTransfer(request, configuration)
    } catch {
      return .failure(error)
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        loop.start(transfer) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      loop.cancel(transfer)
    }
  }
}
