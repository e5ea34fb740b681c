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
  /// A header with characters that could start another header.
  case unsoundHeader
  /// The head or body exceeds its limit.
  case tooLarge
  /// A transfer coding other than chunked, because a small response could then decode to a huge
  /// one.
  case unaskedCoding
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

  init(_ code: CURLcode) { self.code = code }

  init(_ code: CURLcode, of handle: CurlHandle) {
    self.code = code
    systemError = Int32(unsafe ccurl_get_long(handle, CURLINFO_OS_ERRNO))
    verifyResult = unsafe ccurl_get_long(handle, CURLINFO_SSL_VERIFYRESULT)
    proxyStatus = unsafe ccurl_get_long(handle, CURLINFO_HTTP_CONNECTCODE)
    isSent = unsafe ccurl_get_size(handle, CURLINFO_PRETRANSFER_TIME_T) > 0
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
}

extension CurlReport {
  /// The number of NSURLErrorDomain.
  var networkCode: NetworkCode {
    switch code {
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
  func problem(host: String, caFile: String?) -> Problem {
    switch self {
    case .cancelled: Problem(.cancelled, "The request was cancelled.")
    case .budgetSpent: NetworkCode.timedOut.problem(host)
    case .badAddress: NetworkCode.badURL.problem(host)
    case .insecureAddress: NetworkCode.requiresSecureConnection.problem(host)
    case .tooLarge: NetworkCode.dataLengthExceedsMaximum.problem(host)
    case .unaskedCoding: NetworkCode.cannotDecodeContent.problem(host)
    case .unsoundHeader:
      NetworkCode.unknown.problem(
        host, "A request to \(host) was not sent, because a header of it held a line break.")
    case .noThread:
      NetworkCode.unknown.problem(
        host, "No thread could be started to reach \(host); raise the limit of processes.")
    case .noLibrary(let state): NetworkCode.unknown.problem(host, state.sentence)
    case .curl(let report) where report.code == CURLE_SSL_CACERT_BADFILE:
      NetworkCode.secureConnectionFailed.problem(
        host, "The file of trusted certificates cannot be read; check caFile in the configuration.",
        path: caFile)
    case .curl(let report) where SystemError(number: report.systemError).isForWantOfDescriptors:
      NetworkCode.unknown.problem(host, CCURL_NO_DESCRIPTOR.sentence)
    case .curl(let report) where report.isAboutProxy:
      report.networkCode.problem(
        host, "The proxy refused the connection to \(host); check the proxy setting.")
    case .curl(let report): report.problem(host)
    }
  }
}

extension CurlReport {
  fileprivate func problem(_ host: String) -> Problem {
    var problem = networkCode.problem(host)
    problem.mayHaveArrived = isSent
    return problem
  }

  fileprivate var isAboutProxy: Bool {
    code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_PROXY || proxyStatus >= 300
  }
}

extension NetworkCode {
  fileprivate func problem(_ host: String, _ message: String? = nil, path: String? = nil) -> Problem
  {
    Problem(
      .networkFailure, message ?? sentence(host), isRetryable: message == nil && isRetryable,
      advice: isAboutTime ? .checkClock : nil, path: path, networkCode: rawValue)
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

  private var isAboutTime: Bool {
    self == .certificateHasBadDate || self == .certificateNotYetValid
  }

  private func sentence(_ host: String) -> String {
    switch self {
    case .unknown: "The transfer from \(host) failed for an unknown reason; try again later."
    case .badURL: "The address of \(host) is invalid; check it."
    case .timedOut: "\(host) did not answer in time; try again."
    case .unsupportedURL: "The address of \(host) is neither https nor http; check it."
    case .cannotFindHost: "\(host) cannot be found; check the name and the network."
    case .cannotConnectToHost:
      "\(host) does not accept connections; check the address and try again."
    case .connectionLost: "The connection to \(host) was lost; try again."
    case .tooManyRedirects: "\(host) redirects too often; check the address."
    case .notConnectedToInternet: "\(host) is out of reach; connect to the network and try again."
    case .badServerResponse: "\(host) answered with something that is not HTTP; try again later."
    case .cannotDecodeContent:
      "\(host) answered in a transfer coding that was not requested; try again later."
    case .requiresSecureConnection: "\(host) must be reached by https; correct its address."
    case .dataLengthExceedsMaximum: "\(host) sent an answer over the size limit; check the address."
    case .secureConnectionFailed:
      "No secure connection to \(host) could be made; it must support TLS 1.2 or later."
    case .certificateHasBadDate:
      "The certificate of \(host) has expired; check the clock, or wait until it is renewed."
    case .certificateUntrusted:
      "The certificate of \(host) is not trusted or belongs to another host; check the address."
    case .certificateHasUnknownRoot:
      "The certificate of \(host) is from an unknown authority; if you trust it, set caFile to its certificate."
    case .certificateNotYetValid: "The certificate of \(host) is not valid yet; check the clock."
    }
  }
}

extension ccurl_state {
  fileprivate var sentence: String {
    switch self {
    case CCURL_MISSING: "libcurl.so.4 is missing; install it (on Debian the package libcurl4)."
    case CCURL_TOO_OLD: "libcurl.so.4 is too old; install version 7.87 or later."
    case CCURL_NO_DESCRIPTOR:
      "The provider cannot be reached: \(SystemError.tooManyOpenFiles)."
    default: "libcurl.so.4 could not be started; install it again."
    }
  }
}
