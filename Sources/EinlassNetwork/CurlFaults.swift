import CCurl
import Einlass
import EinlassSystem
import Glibc

/// The reason why a request has no response.
enum TransferFault: Error {
  case cancelled
  /// The request's time budget was used up before it was sent.
  case budgetSpent
  /// libcurl parses the address differently from `WebAddress`.
  case badAddress
  /// Plain http to another machine.
  case insecureAddress
  /// The server has an address that is not public, and the request needs a public one: nothing was sent.
  case notPublic
  /// A header with characters that could start another header.
  case unsoundHeader
  /// The head or body exceeds its limit.
  case tooLarge
  /// A transfer coding other than chunked, because a small response could then decode to a huge
  /// one.
  case unaskedCoding
  /// A content coding other than one layer of gzip or deflate.
  case unreadableCoding(String)
  /// No thread could be started.
  case noThread
  /// libcurl could not be loaded.
  case noLibrary(ccurl_state)
  case curl(CurlReport)
}

/// libcurl's report of a failed transfer.
struct CurlReport {
  var code: CURLcode
  /// The last `errno` of a connection attempt.
  var systemError: Int32 = 0
  /// OpenSSL's verdict on the certificate (`X509_V_…`).
  var verifyResult = 0
  /// The status of a proxy's response to CONNECT.
  var proxyStatus = 0
  /// Whether the connection was ready, so that the request may have been sent.
  var isSent = false
  /// The server's last alert, as far as libcurl reports it.
  var alert: TLSAlert?
  /// Whether the request has a client certificate.
  var hasIdentity = false
  /// Whether the request goes through a proxy.
  var hasProxy = false

  init(_ code: CURLcode) { self.code = code }

  init(_ code: CURLcode, of handle: CurlHandle) {
    self.code = code
    systemError = Int32(unsafe ccurl_get_long(handle, CURLINFO_OS_ERRNO))
    verifyResult = unsafe ccurl_get_long(handle, CURLINFO_SSL_VERIFYRESULT)
    proxyStatus = unsafe ccurl_get_long(handle, CURLINFO_HTTP_CONNECTCODE)
    isSent = unsafe ccurl_get_size(handle, CURLINFO_PRETRANSFER_TIME_T) > 0
  }
}

/// A received TLS alert, by its number. RFC 8446 section 6. It is read from libcurl's text, because
/// libcurl reports an alert as a failure to connect, to send or to receive.
struct TLSAlert: Equatable {
  static let badCertificate = TLSAlert(number: 42)
  static let certificateExpired = TLSAlert(number: 45)
  static let certificateRequired = TLSAlert(number: 116)
  /// libcurl replaces OpenSSL's text for the alert `certificate_expired` during the handshake by
  /// this one, if it has no fault of the server's own certificate to report.
  private static let expiredText = "SSL certificate verification failed"

  var number: Int

  init(number: Int) { self.number = number }

  /// Reads libcurl's text about an error, which quotes OpenSSL's: `error:0A00045C:SSL routines:…`.
  /// The last three digits are 1000 and the alert's number, the first two name the library. `nil`
  /// for any other text.
  init?(inErrorText text: String) {
    if text == Self.expiredText {
      self = .certificateExpired
      return
    }
    let marker = Array("error:".utf8)
    let bytes = Array(text.utf8)
    guard
      let start = bytes.indices.first(where: { bytes[$0...].starts(with: marker) }),
      let digits = String(validating: bytes[(start + marker.count)...].prefix(8), as: UTF8.self),
      digits.utf8.count == 8, let code = Int(digits, radix: 16), code > 0,
      digits.utf8.first != UInt8(ascii: "+"),
      // The library's bits differ between OpenSSL 1.1 and 3.
      code >> 24 == 0x14 || code >> 23 == 0x14, (1000...1255).contains(code & 0xFFF)
    else { return nil }
    number = code & 0xFFF - 1000
  }

  /// Whether the alert may concern the client's certificate: bad, unsupported, revoked, expired,
  /// unknown, of an unknown authority, without access or missing.
  var isAboutCertificate: Bool {
    [40, 42, 43, 44, 45, 46, 48, 49, 116].contains(number)
  }
}

/// The numbers of NSURLErrorDomain for failed transfers. Foundation on Linux defines the TLS group
/// shifted by one; these are the numbers of the platforms.
enum NetworkCode: Int {
  case unknown = -1
  case badURL = -1000
  case timedOut = -1001
  case unsupportedURL = -1002
  case cannotFindHost = -1003
  case cannotConnectToHost = -1004
  case connectionLost = -1005
  case tooManyRedirects = -1007
  case notConnectedToInternet = -1009
  case badServerResponse = -1011
  case cannotDecodeContent = -1016
  case requiresSecureConnection = -1022
  case dataLengthExceedsMaximum = -1103
  case secureConnectionFailed = -1200
  case certificateHasBadDate = -1201
  case certificateUntrusted = -1202
  case certificateHasUnknownRoot = -1203
  case certificateNotYetValid = -1204
  case clientCertificateRejected = -1205
  case clientCertificateRequired = -1206
}

extension CurlReport {
  /// The number of NSURLErrorDomain.
  var networkCode: NetworkCode {
    if let clientCertificateCode { return clientCertificateCode }
    return switch code {
    case CURLE_UNSUPPORTED_PROTOCOL: isSent ? .badServerResponse : .unsupportedURL
    case CURLE_URL_MALFORMAT: .badURL
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .cannotFindHost
    case CURLE_COULDNT_CONNECT: connectCode
    case CURLE_PROXY: .cannotConnectToHost
    case CURLE_OPERATION_TIMEDOUT: .timedOut
    case CURLE_TOO_MANY_REDIRECTS: .tooManyRedirects
    case CURLE_RECV_ERROR where proxyStatus >= 300: .cannotConnectToHost
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND:
      .connectionLost
    case CURLE_GOT_NOTHING, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3,
      CURLE_QUIC_CONNECT_ERROR:
      .badServerResponse
    case CURLE_BAD_CONTENT_ENCODING: .cannotDecodeContent
    case CURLE_FILESIZE_EXCEEDED: .dataLengthExceedsMaximum
    // libcurl reports a header line beyond its own limits so.
    case CURLE_OUT_OF_MEMORY where isSent: .dataLengthExceedsMaximum
    case CURLE_PEER_FAILED_VERIFICATION: certificateCode
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE: .secureConnectionFailed
    default: .unknown
    }
  }

  /// The number for an alert about the client's certificate, `nil` for any other fault. With TLS
  /// 1.3 the alert follows the handshake, so libcurl meets it while it sends or receives.
  private var clientCertificateCode: NetworkCode? {
    let codes = [
      CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CLIENTCERT, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
      CURLE_PEER_FAILED_VERIFICATION,
    ]
    guard codes.contains(code), let alert, alert.isAboutCertificate else { return nil }
    if hasIdentity { return .clientCertificateRejected }
    // Before TLS 1.3 some servers report a missing certificate as a bad one.
    return [.certificateRequired, .badCertificate].contains(alert)
      ? .clientCertificateRequired : nil
  }

  /// The fault of the server's certificate; `nil` for any other failure.
  var certificateFault: ServerCertificate.Fault? {
    guard code == CURLE_PEER_FAILED_VERIFICATION, clientCertificateCode == nil else { return nil }
    return switch verifyResult {
    // libcurl compares the host itself, and then leaves its initial value 1 in place of a result.
    case 0, 1, 62: .otherHost
    case 9: .notYetValid
    case 10: .expired
    case 18: .selfSigned
    case 19, 20, 21: .unknownAuthority
    default: .untrusted
    }
  }

  private var connectCode: NetworkCode {
    switch systemError {
    case ENETUNREACH, ENETDOWN: .notConnectedToInternet
    case ETIMEDOUT: .timedOut
    default: .cannotConnectToHost
    }
  }

  private var certificateCode: NetworkCode {
    switch verifyResult {
    case 9: .certificateNotYetValid
    case 10: .certificateHasBadDate
    case 18, 19, 20, 21: .certificateHasUnknownRoot
    default: .certificateUntrusted
    }
  }
}

extension TransferFault {
  /// Returns the problem. It names the host, but never the whole address.
  /// `isOfServer` says that the account's server has `caFile`, and not the configuration.
  func problem(host: String, caFile: String?, isOfServer: Bool = false) -> Problem {
    switch self {
    case .cancelled: Problem(.cancelled, "The request was cancelled.")
    case .budgetSpent: NetworkCode.timedOut.problem(host)
    case .badAddress: NetworkCode.badURL.problem(host)
    case .insecureAddress: NetworkCode.requiresSecureConnection.problem(host)
    case .tooLarge: NetworkCode.dataLengthExceedsMaximum.problem(host)
    case .unaskedCoding: NetworkCode.cannotDecodeContent.problem(host)
    case .unreadableCoding(let coding):
      NetworkCode.cannotDecodeContent.problem(
        host, "The answer of \(host) is compressed with \(Self.shown(coding)).")
    case .notPublic:
      Problem(
        .unsafeURL,
        "Another server names \(host), which has an address of this machine or of its network. Nothing was sent there.",
        detail: Problem.notPublic)
    case .unsoundHeader:
      NetworkCode.unknown.problem(
        host, "A request to \(host) was not sent, because a header of it held a line break.")
    case .noThread:
      NetworkCode.unknown.problem(
        host, "No thread could be started to reach \(host).", advice: .raiseProcessLimit)
    case .noLibrary(CCURL_NO_DESCRIPTOR): .tooManyOpenFiles(host)
    case .noLibrary(let state):
      NetworkCode.unknown.problem(host, state.sentence, advice: .installLibcurl)
    case .curl(let report) where report.code == CURLE_SSL_CACERT_BADFILE:
      NetworkCode.secureConnectionFailed.problem(
        host,
        "The file of trusted certificates\(caFile.map { " \($0)" } ?? "") cannot be read, or has none.",
        advice: isOfServer ? .checkServerCAFile : .checkCAFile, path: caFile)
    case .curl(let report) where report.code == CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      .otherPublicKey(host)
    case .curl(let report) where SystemError(number: report.systemError).isForWantOfDescriptors:
      .tooManyOpenFiles(host)
    case .curl(let report) where report.isAboutProxy: report.proxyProblem(host)
    case .curl(let report): report.problem(host)
    }
  }
}

extension Problem {
  fileprivate static func tooManyOpenFiles(_ host: String) -> Problem {
    NetworkCode.unknown.problem(
      host, "\(host) cannot be reached, because the limit on open files (ulimit -n) is reached.",
      advice: .freeDescriptors)
  }
}

extension TransferFault {
  /// Returns the name of a coding if it is short and a list of tokens.
  private static func shown(_ coding: String) -> String {
    let isName = coding.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || "0123456789-, ".utf8.contains(byte)
    }
    return isName && coding.utf8.count <= 32 ? coding : "an unknown coding"
  }
}

extension CurlReport {
  fileprivate func problem(_ host: String) -> Problem {
    var problem = networkCode.problem(host)
    // A server reads no request before it has accepted the client's certificate.
    problem.mayHaveArrived = isSent && clientCertificateCode == nil
    return problem
  }

  fileprivate var isAboutProxy: Bool {
    code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_PROXY || proxyStatus >= 300
      || hasProxy && code == CURLE_COULDNT_CONNECT
  }

  /// The problem of a proxy that is absent, or refuses.
  fileprivate func proxyProblem(_ host: String) -> Problem {
    let isAbsent = proxyStatus == 0 && code != CURLE_PROXY
    let sentence =
      if proxyStatus == 407 {
        "The proxy wants a name and a password for the connection to \(host)."
      } else if !isAbsent {
        "The proxy refused the connection to \(host)."
      } else if code == CURLE_COULDNT_RESOLVE_PROXY {
        "The proxy for \(host) cannot be found."
      } else {
        "The proxy for \(host) does not accept connections."
      }
    var problem = networkCode.problem(host, sentence, advice: .checkProxy)
    problem.isRetryable = isAbsent || (500...599).contains(proxyStatus)
    return problem
  }
}

extension NetworkCode {
  fileprivate func problem(
    _ host: String, _ message: String? = nil, advice: Problem.Advice? = nil, path: String? = nil
  ) -> Problem {
    Problem(
      .networkFailure, message ?? sentence(host),
      advice: advice ?? self.advice,
      isRetryable: message == nil && isRetryable, path: path, networkCode: rawValue)
  }

  /// Whether the same request may succeed later.
  private var isRetryable: Bool {
    switch self {
    case .timedOut, .cannotFindHost, .cannotConnectToHost, .connectionLost, .notConnectedToInternet,
      .badServerResponse:
      true
    default: false
    }
  }

  private func sentence(_ host: String) -> String {
    switch self {
    case .unknown: "The transfer from \(host) failed for an unknown reason."
    case .badURL: "The address of \(host) is invalid."
    case .timedOut: "\(host) did not answer in time."
    case .unsupportedURL: "The address of \(host) is neither https nor http."
    case .cannotFindHost: "\(host) cannot be found."
    case .cannotConnectToHost: "\(host) does not accept connections."
    case .connectionLost: "The connection to \(host) was lost."
    case .tooManyRedirects: "\(host) redirects too often."
    case .notConnectedToInternet: "\(host) is out of reach."
    case .badServerResponse: "\(host) answered with something that is not HTTP."
    case .cannotDecodeContent: "\(host) sent an answer that cannot be decoded."
    case .requiresSecureConnection: "\(host) must be reached by https."
    case .dataLengthExceedsMaximum: "\(host) sent an answer over the size limit."
    case .secureConnectionFailed:
      "No secure connection to \(host) could be made with TLS 1.2 or later."
    case .certificateHasBadDate: "The certificate of \(host) has expired."
    case .certificateUntrusted:
      "The certificate of \(host) is not trusted or belongs to another host."
    case .certificateHasUnknownRoot: "The certificate of \(host) is from an unknown authority."
    case .certificateNotYetValid: "The certificate of \(host) is not valid yet."
    case .clientCertificateRejected: "\(host) refused the client certificate."
    case .clientCertificateRequired: "\(host) requires a client certificate."
    }
  }

  private var advice: Problem.Advice {
    switch self {
    case .timedOut, .connectionLost: .tryAgain
    case .badServerResponse: .tryLater
    case .cannotFindHost, .notConnectedToInternet: .checkNetwork
    case .requiresSecureConnection: .nameWithHTTPS
    case .certificateHasBadDate, .certificateNotYetValid: .checkClock
    case .certificateHasUnknownRoot: .trustAuthority
    case .clientCertificateRejected: .checkCertificate
    case .clientCertificateRequired: .addCertificate
    case .unknown, .badURL, .unsupportedURL, .cannotConnectToHost, .tooManyRedirects,
      .cannotDecodeContent, .dataLengthExceedsMaximum, .secureConnectionFailed,
      .certificateUntrusted:
      .checkAddress
    }
  }
}

extension ccurl_state {
  fileprivate var sentence: String {
    switch self {
    case CCURL_MISSING: "libcurl.so.4 is missing."
    case CCURL_TOO_OLD: "libcurl.so.4 is older than version 7.74."
    default: "libcurl.so.4 could not be started."
    }
  }
}
