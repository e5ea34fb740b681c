import CCurl
import Einlass
import EinlassCrypto
import EinlassSystem

/// An easy handle of libcurl.
typealias CurlHandle = UnsafeMutableRawPointer

/// One transfer: its options, the received bytes and the completion.
///
/// After `CurlLoop.start` only the loop's thread uses it, except for `isCancelled`.
@safe final class CurlTransfer: @unchecked Sendable {
  /// The purpose of a transfer.
  enum Purpose: Equatable {
    /// A request and its response.
    case exchange
    /// A TLS handshake. The body of the response is the server's certificate as PEM text.
    case handshake(isVerified: Bool)
  }

  let isCancelled = Lock(false)
  var completion: CurlLoop.Completion?

  private let request: HTTPRequest
  private let purpose: Purpose
  private let configuration: CurlClient.Configuration
  /// The address of the proxy; `nil` for a direct connection.
  private let proxy: String?
  /// The number of bytes of the request's body that libcurl has read.
  private var sentCount = 0
  private var handle: CurlHandle?
  /// The time for which the process was stopped during the transfer.
  private var stopped = 0
  private var headers: UnsafeMutablePointer<curl_slist>?
  private var answer: CurlAnswer
  /// Whether the server had an address that is not public.
  private var hasRefusedAddress = false
  /// libcurl's description of an error.
  private var errorText: UnsafeMutablePointer<CChar>?

  /// Throws for a request that must not be sent: see `TransferFault`.
  init(
    _ request: HTTPRequest, _ purpose: Purpose, _ configuration: CurlClient.Configuration
  ) throws(TransferFault) {
    guard request.address.isSafe || request.trust.allowsPlainHTTP else { throw .insecureAddress }
    guard request.headers.allSatisfy(\.isSound) else { throw .unsoundHeader }
    guard request.timeout ?? .seconds(1) > .zero else { throw .budgetSpent }
    self.request = request
    self.purpose = purpose
    self.configuration = configuration
    proxy = ProxyChoice(configuration.proxy).proxy(for: request.address)
    answer = CurlAnswer(bodyLimit: request.responseLimitBytes, limits: configuration.limits)
  }

  /// Calls the completion. Only the first call has an effect.
  func end(_ result: Result<HTTPResponse, TransferFault>) {
    completion?(result)
    completion = nil
  }

  /// Starts the transfer. The handle belongs to the multi handle until `detach`.
  func attach(to multi: UnsafeMutableRawPointer) throws(TransferFault) -> CurlHandle {
    let address = try request.address.textForCurl()
    guard let handle = unsafe ccurl_easy_init() else {
      throw .curl(CurlReport(CURLE_OUT_OF_MEMORY))
    }
    unsafe self.handle = handle
    do throws(TransferFault) {
      try unsafe configure(handle, address)
      guard unsafe ccurl_multi_add(multi, handle) == CURLM_OK else {
        throw TransferFault.curl(CurlReport(CURLE_FAILED_INIT))
      }
    } catch {
      unsafe detach(from: multi)
      throw error
    }
    return unsafe handle
  }

  /// Lengthens the limits of time by a stop of the process.
  func prolong(milliseconds: Int) {
    guard let handle = unsafe handle else { return }
    stopped += milliseconds
    for (option, value) in timeLimits { _ = unsafe ccurl_set_long(handle, option, value) }
  }

  private var timeLimits: [(CURLoption, Int)] {
    let limits = configuration.limits
    let total = min(request.timeout ?? limits.total, limits.total)
    return [
      (CURLOPT_TIMEOUT_MS, total.wholeMilliseconds + stopped),
      (CURLOPT_LOW_SPEED_TIME, limits.slow.wholeSeconds + (stopped + 999) / 1000),
    ]
  }

  /// Frees handle and header lines. A connection in the middle of a transfer is closed.
  func detach(from multi: UnsafeMutableRawPointer) {
    guard let handle = unsafe handle else { return }
    unsafe ccurl_multi_remove(multi, handle)
    unsafe ccurl_easy_cleanup(handle)
    unsafe ccurl_list_free(headers)
    unsafe errorText?.deallocate()
    unsafe self.handle = nil
    unsafe headers = nil
    unsafe errorText = nil
  }

  /// Returns the result. Call before `detach`.
  func result(_ code: CURLcode) -> Result<HTTPResponse, TransferFault> {
    guard let handle = unsafe handle else { return .failure(.cancelled) }
    if let refusal = answer.refusal { return .failure(refusal) }
    if code == CURLE_OK, purpose != .exchange {
      return .success(HTTPResponse(status: 0, body: unsafe certificate(in: handle)))
    }
    guard code == CURLE_OK, answer.hasWholeHead else {
      guard !hasRefusedAddress else { return .failure(.notPublic) }
      let fault = code == CURLE_OK ? CURLE_PARTIAL_FILE : code
      var report = unsafe CurlReport(fault, of: handle)
      report.alert = unsafe errorText.flatMap { unsafe TLSAlert(inErrorText: String(cString: $0)) }
      report.hasIdentity = request.identity != nil
      report.hasProxy = proxy != nil
      return .failure(.curl(report))
    }
    let status = unsafe ccurl_get_long(handle, CURLINFO_RESPONSE_CODE)
    var response = HTTPResponse(
      status: status, headers: answer.headers, body: answer.body,
      cookies: request.cookies == nil ? [] : unsafe cookies(in: handle))
    if proxy == nil, let address = unsafe ccurl_get_text(handle, CURLINFO_PRIMARY_IP) {
      response.isFromInternalAddress = PublicAddress.isInternal(
        AddressBlock.address(unsafe String(cString: address)))
    }
    return .success(response)
  }

  /// Returns the cookies in the jar of the transfer, a line each.
  private func cookies(in handle: CurlHandle) -> [String] {
    let list = unsafe ccurl_get_list(handle, CURLINFO_COOKIELIST)
    defer { unsafe ccurl_list_free(list) }
    return unsafe lines(of: list)
  }

  /// Returns the server's certificate as PEM text; empty if libcurl does not give it.
  private func certificate(in handle: CurlHandle) -> [UInt8] {
    let name = "Cert:"
    let pem = unsafe lines(of: ccurl_get_certificate(handle)).first { $0.hasPrefix(name) }
    return pem.map { Array($0.utf8.dropFirst(name.utf8.count)) } ?? []
  }

  private func lines(of list: UnsafeMutablePointer<curl_slist>?) -> [String] {
    var lines: [String] = []
    var element = unsafe list
    while let current = unsafe element {
      if let line = unsafe current.pointee.data { lines.append(unsafe String(cString: line)) }
      unsafe element = current.pointee.next
    }
    return lines
  }
}

// The options of every transfer. Some repeat libcurl's default, so that they do not depend on its
// version.
extension CurlTransfer {
  private func configure(_ handle: CurlHandle, _ address: String) throws(TransferFault) {
    let limits = configuration.limits
    // libcurl compares the accepted public key after the handshake, before it sends the request.
    let isVerified = request.trust.publicKey == nil && purpose != .handshake(isVerified: false)
    let handshake = purpose == .exchange ? 0 : 1
    let numbers: [(CURLoption, Int)] = [
      (CURLOPT_NOSIGNAL, 1), (CURLOPT_QUICK_EXIT, 1),
      (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_UNRESTRICTED_AUTH, 0),
      (CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue)),
      (CURLOPT_DISALLOW_USERNAME_IN_URL, 1), (CURLOPT_PATH_AS_IS, 1),
      (CURLOPT_SSL_VERIFYPEER, isVerified ? 1 : 0), (CURLOPT_SSL_VERIFYHOST, isVerified ? 2 : 0),
      (CURLOPT_CONNECT_ONLY, handshake), (CURLOPT_CERTINFO, handshake),
      (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
      (CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
      (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)), (CURLOPT_HTTP09_ALLOWED, 0),
      (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
      (CURLOPT_CONNECTTIMEOUT_MS, limits.connect.wholeMilliseconds),
      (CURLOPT_LOW_SPEED_LIMIT, limits.slowBytesPerSecond),
      (CURLOPT_MAXAGE_CONN, limits.idle.wholeSeconds),
      (CURLOPT_MAXLIFETIME_CONN, limits.idle.wholeSeconds),
    ]
    for (option, value) in numbers + timeLimits {
      try check(unsafe ccurl_set_long(handle, option, value))
    }
    var texts: [(CURLoption, String)] = [
      (CURLOPT_PROTOCOLS_STR, request.address.scheme.rawValue),
      (CURLOPT_REDIR_PROTOCOLS_STR, "https"),
      (CURLOPT_URL, address), (CURLOPT_CUSTOMREQUEST, request.method.rawValue),
      (CURLOPT_USERAGENT, configuration.userAgent),
      // libcurl decodes an answer only with this option. `attachHeaders` asks for a plain one all
      // the same, and `CurlAnswer` refuses every other coding that libcurl knows.
      (CURLOPT_ACCEPT_ENCODING, CurlAnswer.codings.joined(separator: ", ")),
    ]
    // No SHA-1 and no short keys in certificates, even if the system's OpenSSL allows them. A level
    // of the system that is higher still does not apply.
    texts += [CURLOPT_SSL_CIPHER_LIST, CURLOPT_PROXY_SSL_CIPHER_LIST].map {
      ($0, "DEFAULT:@SECLEVEL=2")
    }
    if let key = request.trust.publicKey { texts.append((CURLOPT_PINNEDPUBLICKEY, key)) }
    if let file = request.trust.caFile ?? configuration.caFile {
      // CAINFO replaces the system's file of certificates, so name the system's folder too.
      texts += [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO].map { ($0, file) }
      texts += [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH].map { ($0, "/etc/ssl/certs") }
    }
    texts += [(CURLOPT_PROXY, proxy ?? ""), (CURLOPT_NOPROXY, "")]
    if request.needsPublicAddress, !configuration.internalHosts.contains(request.address.host) {
      try unsafe attachAddressCheck(handle)
    }
    for (option, value) in texts {
      try check(unsafe ccurl_set_text(handle, option, value))
    }
    // An empty file name starts a jar of the transfer's own.
    for cookie in request.cookies.map({ [""] + $0 }) ?? [] {
      try check(
        unsafe ccurl_set_text(
          handle, cookie.isEmpty ? CURLOPT_COOKIEFILE : CURLOPT_COOKIELIST, cookie))
    }
    try unsafe attachErrorText(handle)
    try unsafe attachIdentity(handle)
    try unsafe attachBody(handle)
    try unsafe attachHeaders(handle)
    try unsafe attachCallbacks(handle)
  }

  private func attachErrorText(_ handle: CurlHandle) throws(TransferFault) {
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe text.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    unsafe errorText = text
    try check(unsafe ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, text))
  }

  /// libcurl reuses a connection only for the same certificate.
  private func attachIdentity(_ handle: CurlHandle) throws(TransferFault) {
    guard let identity = request.identity else { return }
    let certificate = Array(identity.certificate.utf8)
    try check(
      unsafe ccurl_set_bytes(handle, CURLOPT_SSLCERT_BLOB, certificate, certificate.count, 1))
    // The request keeps the key, so libcurl needs no copy.
    let key = unsafe identity.privateKey.bytesInPlace
    try check(
      unsafe ccurl_set_bytes(handle, CURLOPT_SSLKEY_BLOB, key.baseAddress, key.count, 0))
    // Without a password, OpenSSL would ask for it on the terminal.
    for (option, value) in [
      (CURLOPT_SSLCERTTYPE, "PEM"), (CURLOPT_SSLKEYTYPE, "PEM"), (CURLOPT_KEYPASSWD, ""),
    ] {
      try check(unsafe ccurl_set_text(handle, option, value))
    }
  }

  private func attachBody(_ handle: CurlHandle) throws(TransferFault) {
    guard request.method == .post || !request.body.isEmpty else { return }
    try check(unsafe ccurl_set_long(handle, CURLOPT_POST, 1))
    try check(
      unsafe ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
    // Without a seek callback libcurl cannot rewind the body and send it again when a reused
    // connection breaks. It must not, because the first copy may have used up a code or a token.
    try check(
      unsafe ccurl_set_callback(handle, CURLOPT_READFUNCTION) { bytes, size, count, transfer in
        unsafe CurlTransfer.behind(transfer)?.giveBody(bytes, size * count) ?? -1
      })
  }

  private func attachHeaders(_ handle: CurlHandle) throws(TransferFault) {
    // A name with nothing after the colon removes a header that libcurl would add.
    var lines = ["Expect:", "Accept-Encoding: identity"]
    if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
      lines.append("Content-Type:")
    }
    lines += request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    for line in lines {
      guard let longer = unsafe ccurl_list_append(headers, line) else {
        throw .curl(CurlReport(CURLE_OUT_OF_MEMORY))
      }
      unsafe headers = longer
    }
    try check(unsafe ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, headers))
  }

  private func attachCallbacks(_ handle: CurlHandle) throws(TransferFault) {
    let myself = unsafe Unmanaged.passUnretained(self).toOpaque()
    try check(
      unsafe ccurl_set_size(
        handle, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(request.responseLimitBytes)))
    for option in [CURLOPT_READDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA] {
      try check(unsafe ccurl_set_pointer(handle, option, myself))
    }
    // Any number other than the given one makes libcurl abort.
    try check(
      unsafe ccurl_set_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, transfer in
        let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe CurlTransfer.behind(transfer)?.answer.takeBody(piece) == true
          ? piece.count : -1
      })
    try check(
      unsafe ccurl_set_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, transfer in
        let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe CurlTransfer.behind(transfer)?.answer.takeHeaderLine(line) == true
          ? count : -1
      })
  }

  /// Checks each address before libcurl connects to it, and that of an open connection before it is used
  /// again, because another request may have opened it without the check. A proxy looks up names
  /// itself, so only the host can be checked then.
  private func attachAddressCheck(_ handle: CurlHandle) throws(TransferFault) {
    guard proxy == nil else {
      guard PublicAddress.mayContain(host: request.address.host) else { throw .notPublic }
      return
    }
    let myself = unsafe Unmanaged.passUnretained(self).toOpaque()
    try check(unsafe ccurl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, myself))
    try check(
      unsafe ccurl_set_opening(handle) { transfer, _, address in
        guard let transfer = unsafe CurlTransfer.behind(transfer), let address = unsafe address,
          unsafe transfer.mayConnect(to: address)
        else { return CURL_SOCKET_BAD }
        return unsafe ccurl_socket(address)
      })
    try check(unsafe ccurl_set_pointer(handle, CURLOPT_PREREQDATA, myself))
    try check(
      unsafe ccurl_set_beginning(handle) { transfer, address, _, _, _ in
        guard let transfer = unsafe CurlTransfer.behind(transfer), let address = unsafe address,
          unsafe transfer.mayUse(AddressBlock.address(String(cString: address)))
        else { return CURL_PREREQFUNC_ABORT }
        return CURL_PREREQFUNC_OK
      })
  }

  private func mayConnect(to address: UnsafePointer<curl_sockaddr>) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe ccurl_address_bytes(address, &bytes)
    return mayUse(Array(bytes.prefix(count)))
  }

  private func mayUse(_ address: [UInt8]) -> Bool {
    let isPublic = PublicAddress.contains(address)
    if !isPublic { hasRefusedAddress = true }
    return isPublic
  }

  private static func behind(_ pointer: UnsafeMutableRawPointer?) -> CurlTransfer? {
    guard let pointer = unsafe pointer else { return nil }
    return unsafe Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
  }

  private func giveBody(_ bytes: UnsafeMutablePointer<CChar>?, _ capacity: Int) -> Int {
    let piece = request.body[sentCount...].prefix(capacity)
    unsafe UnsafeMutableRawBufferPointer(start: bytes, count: capacity).copyBytes(from: piece)
    sentCount += piece.count
    return piece.count
  }

  private func check(_ code: CURLcode) throws(TransferFault) {
    if code != CURLE_OK { throw .curl(CurlReport(code)) }
  }
}

extension HTTPRequest.Header {
  /// Whether the name consists of token characters (RFC 9110 section 5.6.2) and the value cannot
  /// end its line, because libcurl checks neither.
  fileprivate var isSound: Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      } && value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
  }
}
