// swift-tools-version: 6.2
// A program outside the tree that signs in with the library.

import PackageDescription

// The folder of einlass. Set the variable if this package is copied elsewhere.
let einlass = Context.environment["EINLASS_PACKAGE"] ?? "../.."
let name = einlass.split(separator: "/").last.map(String.init) ?? "einlass"

let package = Package(
  name: "downstream",
  dependencies: [.package(name: "einlass", path: einlass)],
  targets: [
    .executableTarget(
      name: "Downstream", dependencies: [.product(name: "Einlass", package: "einlass")])
  ]
)
