import CCurl
import Einlass
import Glibc
import Testing

@testable import EinlassNetwork

@Suite struct NetworkCodeTests {
  private static let plain: [(CURLcode, Int)] = [
    (CURLE_UNSUPPORTED_PROTOCOL, -1002), (CURLE_URL_MALFORMAT, -1000),
    (CURLE_COULDNT_RESOLVE_HOST, -1003), (CURLE_COULDNT_RESOLVE_PROXY, -1003),
    (CURLE_COULDNT_CONNECT, -1004), (CURLE_OPERATION_TIMEDOUT, -1001), (CURLE_SEND_ERROR, -1005),
    (CURLE_RECV_ERROR, -1005), (CURLE_PARTIAL_FILE, -1005), (CURLE_SEND_FAIL_REWIND, -1005),
    (CURLE_TOO_MANY_REDIRECTS, -1007), (CURLE_GOT_NOTHING, -1011),
    (CURLE_WEIRD_SERVER_REPLY, -1011), (CURLE_HTTP2, -1011), (CURLE_HTTP2_STREAM, -1011),
    (CURLE_HTTP3, -1011), (CURLE_BAD_CONTENT_ENCODING, -1016), (CURLE_FILESIZE_EXCEEDED, -1103),
    (CURLE_SSL_CONNECT_ERROR, -1200), (CURLE_SSL_CACERT_BADFILE, -1200),
    (CURLE_PEER_FAILED_VERIFICATION, -1202), (CURLE_FAILED_INIT, -1), (CURLE_OUT_OF_MEMORY, -1),
  ]

  @Test("Error codes of libcurl become the error codes of Apple's platforms", arguments: plain)
  func codes(code: CURLcode, number: Int) {
    #expect(CurlReport(code).networkCode.rawValue == number)
  }

  @Test(
    "The system error of a failed connection decides the code",
    arguments: [
      (ENETUNREACH, -1009), (ENETDOWN, -1009), (ETIMEDOUT, -1001), (ECONNREFUSED, -1004),
      (0, -1004),
    ])
  func connecting(systemError: Int32, number: Int) {
    var report = CurlReport(CURLE_COULDNT_CONNECT)
    report.systemError = systemError
    #expect(report.networkCode.rawValue == number)
  }

  @Test(
    "The result of certificate verification decides the code",
    arguments: [
      (9, -1204), (10, -1201), (18, -1203), (19, -1203), (20, -1203), (21, -1203), (0, -1202),
      (7, -1202), (23, -1202), (62, -1202),
    ])
  func certificates(verifyResult: Int, number: Int) {
    var report = CurlReport(CURLE_PEER_FAILED_VERIFICATION)
    report.verifyResult = verifyResult
    #expect(report.networkCode.rawValue == number)
  }

  @Test(
    "A missing or unfit libcurl is reported with the way out",
    arguments: [
      (CCURL_MISSING, "libcurl4"), (CCURL_TOO_OLD, "7.87"), (CCURL_BROKEN, "again"),
    ])
  func library(state: ccurl_state, word: String) {
    let problem = TransferFault.noLibrary(state).problem(host: "a.test", caFile: nil)
    #expect(problem.reason == .networkFailure && problem.networkCode == -1)
    #expect(problem.message.contains("libcurl.so.4") && problem.message.contains(word))
    #expect(!problem.isRetryable)
  }
}
