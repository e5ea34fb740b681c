"""The list of the words of a provider's descriptor, from the doc comments of the types that read them."""
import re
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[2] / "Sources/Einlass"
MARK = "<!-- protocol/generate writes the rest from the doc comments of Sources/Einlass/Descriptors. -->\n"
#: The part of the list, the file, and the declaration below the comment.
TYPES = [
    ("A provider", "Descriptors/Provider.swift", "public final class Provider"),
    ("Another server of the same software", "Descriptors/ProviderModel.swift", "static func read"),
    ("server", "Descriptors/ServerWord.swift", "struct ServerWord"),
    ("setup", "Descriptors/ProviderSetup.swift", "public struct Setup"),
    ("hosts", "Descriptors/ServedHost.swift", "public struct ServedHost"),
    ("scopeNames", "Descriptors/ScopeNames.swift", "public struct ScopeNames"),
    ("scopeContents", "Descriptors/ScopeContents.swift", "public struct ScopeContents"),
    ("permissions", "Descriptors/PermissionsDescriptor.swift", "struct PermissionsDescriptor"),
    ("locale", "Descriptors/LocaleDescriptor.swift", "struct LocaleDescriptor"),
    ("A request", "Descriptors/Template.swift", "struct RequestTemplate"),
    ("identity", "Descriptors/IdentityDescriptor.swift", "struct IdentityDescriptor"),
    ("emails", "Descriptors/IdentityDescriptor.swift", "struct Emails"),
    ("The flow authorizationCode", "Descriptors/FlowDescriptor.swift", "struct AuthorizationCode"),
    ("redirect", "Descriptors/RedirectDescriptor.swift", "enum RedirectDescriptor"),
    ("The flow deviceCode", "Descriptors/FlowDescriptor.swift", "struct DeviceCode"),
    ("The flow clientCredentials", "Descriptors/FlowDescriptor.swift", "case clientCredentials"),
    ("The flow jwtBearer", "Descriptors/FlowDescriptor.swift", "case jwtBearer"),
    ("The flow tokenExchange", "Descriptors/FlowDescriptor.swift", "struct TokenExchange"),
    ("The token endpoint of these flows", "Descriptors/TokenEndpoint.swift", "struct TokenEndpoint"),
    ("tokenAnswer", "Descriptors/TokenAnswer.swift", "struct TokenAnswer"),
    ("assertion", "OAuth2/ClientAssertion.swift", "struct ClientAssertion"),
    ("mutualTLS", "OAuth2/MutualTLS.swift", "struct MutualTLS"),
    ("dynamicRegistration", "Registrations/DynamicRegistration.swift", "struct DynamicRegistration"),
    ("The flow oauth1", "Descriptors/FlowDescriptor.swift", "struct ThreeLegged"),
    ("The flow passwordSession", "Descriptors/PasswordSession.swift", "struct PasswordSession"),
    ("verify by introspection", "Descriptors/VerifyDescriptor.swift", "case introspection"),
    ("verify by tokenInfo", "Descriptors/VerifyDescriptor.swift", "struct TokenInfo"),
    ("errors", "Descriptors/ErrorRules.swift", "struct ErrorRules"),
    ("A shape of errors", "Descriptors/ErrorShape.swift", "struct ErrorShape"),
    ("A rule of errors", "Descriptors/ErrorRules.swift", "struct ErrorRule:"),
]


def page(text):
    """Returns the page with its list."""
    return text[:text.index(MARK) + len(MARK)] + "\n" + "\n".join(
        f"### {title}\n\n{comment(file, declaration)}" for title, file, declaration in TYPES)


def comment(file, declaration):
    """Returns a doc comment, which is Markdown."""
    above = (ENGINE / file).read_text().split("\n")
    at = next(number for number, line in enumerate(above) if line.strip().startswith(declaration))
    start = at
    while above[start - 1].strip().startswith("///"):
        start -= 1
    return "\n".join(re.sub(r"^ */// ?", "", line, count=1) for line in above[start:at]) + "\n"
