import CCurl
public import Einlass
import EinlassCrypto
import EinlassSystem

/// An HTTP client on libcurl: verifies TLS, enforces limits, and leaves redirects to the caller.
///
/// One thread does all transfers. It starts with the first request, keeps connections open between
/// requests, and ends after a minute without a transfer. libcurl is loaded with the first request.
public final class CurlClient: Sendable {
  /// The network settings.
  public struct Configuration: Sendable, Equatable {
    /// A PEM file with certificates to trust *in addition to* the system's, so that a private
    /// authority does not replace the public ones.
    public var caFile: String?
    /// The address of a proxy. `nil` follows the standard variables (`https_proxy`, `all_proxy`),
    /// "" means none. `no_proxy` applies in any case, and loopback addresses never use a proxy.
    public var proxy: String?
    /// The hosts that a request may reach without a public address, although it needs one.
    public var internalHosts: Set<String> = []
    /// The `User-Agent` header, because some providers reject requests without one.
    public var userAgent = "einlass"
    public var limits = TransferLimits()

    public init(
      caFile: String? = nil, proxy: String? = nil, internalHosts: Set<String> = []
    ) {
      self.caFile = caFile
      self.proxy = proxy
      self.internalHosts = internalHosts
    }
  }

  private let configuration: Configuration
  private let loop: CurlLoop

  /// Starts nothing before the first request.
  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    loop = CurlLoop(idle: configuration.limits.idle)
  }

  deinit { loop.close(waiting: false) }

  /// Sends one request and returns its whole response, with any status.
  ///
  /// Throws `cancelled` when the task is cancelled, else `networkFailure` with an NSURLErrorDomain
  /// number.
  public func send(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    do {
      return try await transfer(request, .exchange).get()
    } catch {
      throw problem(error, of: request)
    }
  }

  /// Connects to a server, and returns its certificate and its fault without sending a request;
  /// `nil` for plain http.
  ///
  /// The certificate is read from a second connection if the first one fails for it, because
  /// libcurl keeps no certificate that it has refused.
  public func certificate(
    at address: WebAddress, _ trust: ServerTrust
  ) async throws(Problem) -> ServerCertificate? {
    var request = HTTPRequest(.get, address)
    request.trust = ServerTrust(
      caFile: trust.caFile, allowsPlainHTTP: trust.allowsPlainHTTP)
    do throws(TransferFault) {
      var fault: ServerCertificate.Fault?
      var ended = await transfer(request, .handshake(isVerified: true))
      if case .failure(.curl(let report)) = ended, let reported = report.certificateFault {
        fault = reported
        ended = await transfer(request, .handshake(isVerified: false))
      }
      let pem = String(decoding: try ended.get().body, as: UTF8.self)
      guard address.scheme == .https else { return nil }
      guard let certificate = Certificate(pem: pem) else {
        throw TransferFault.curl(CurlReport(CURLE_SSL_CONNECT_ERROR))
      }
      return ServerCertificate(
        publicKey: "sha256//" + Base64.encode(certificate.publicKeyDigest), fault: fault,
        endsAt: certificate.endsAt)
    } catch {
      throw problem(error, of: request)
    }
  }

  private func problem(_ fault: TransferFault, of request: HTTPRequest) -> Problem {
    fault.problem(
      host: request.address.host, caFile: request.trust.caFile ?? configuration.caFile,
      isOfServer: request.trust.caFile != nil)
  }

  /// Aborts running transfers, waits for the thread to end and refuses later requests. Takes
  /// milliseconds.
  public func close() { loop.close(waiting: true) }

  private func transfer(
    _ request: HTTPRequest, _ purpose: CurlTransfer.Purpose
  ) async -> Result<HTTPResponse, TransferFault> {
    let transfer: CurlTransfer
    do {
      transfer = try CurlTransfer(request, purpose, configuration)
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
