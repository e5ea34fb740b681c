"""Values in place of the placeholders of a transcript, for the server of a client under test."""
from typing import Any, Dict, Optional

from transcripts import Matcher, document

ADDRESS_MEMBERS = ("url", "verificationUri", "verificationUriComplete", "avatar")


class Standins:
    """Fills the messages of one transcript. Each placeholder gets a value of the type that the document demands."""

    def __init__(self) -> None:
        self.matcher = Matcher()
        self.matcher.captures["folder"] = "/the-folder"
        self.count = 0
        self.document = document()
        self.schemas = self.document["components"]["schemas"]
        self.methods = {method["name"]: method for method in self.document["methods"]}

    def capture(self, name: str, value: Any) -> None:
        self.matcher.captures[name] = value

    def request(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Returns a message of the client with the values captured so far."""
        return self._unknown(self.matcher.resolved(message))

    def _unknown(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._unknown(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self._unknown(element) for element in value]
        return value.replace("$ref:", "the-") if isinstance(value, str) else value

    def answer(self, message: Dict[str, Any], method: str) -> Dict[str, Any]:
        """Returns an answer to a request of this method."""
        schema = self.methods.get(method, {}).get("result", {}).get("schema", {})
        if "result" in message:
            return {**message, "result": self._filled(message["result"], schema)}
        filled = self._filled(message["error"], {})
        return {**message, "error": {**filled, "message": "This is a message for the person: ä ✓ 😀."}}

    def notification(self, message: Dict[str, Any]) -> Dict[str, Any]:
        params = self.methods.get(message["method"], {}).get("params", [])
        schema = {"properties": {param["name"]: param["schema"] for param in params}}
        return {**message, "params": self._filled(message.get("params", {}), schema)}

    def _filled(self, value: Any, schema: Dict[str, Any], name: str = "value") -> Any:
        schema = self._resolved(schema)
        if isinstance(value, dict):
            return {key: self._filled(member, self._member(schema, key), key) for key, member in value.items()}
        if isinstance(value, list):
            return [self._filled(element, schema.get("items", {}), name) for element in value]
        if isinstance(value, str) and value.startswith("$capture:"):
            self.count += 1
            capture = value[len("$capture:"):]
            self.capture(capture, self._typed(schema, f"the-{capture}-{self.count}", name))
            return self.matcher.captures[capture]
        if value in ("$any", "$string"):
            return self._typed(schema, f"the-{name}", name)
        return self._unknown(self.matcher.resolved(value))

    def _resolved(self, schema: Dict[str, Any]) -> Dict[str, Any]:
        if len(schema.get("allOf", [])) == 1:
            schema = schema["allOf"][0]
        if "$ref" in schema:
            return self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def _member(self, schema: Dict[str, Any], name: str) -> Dict[str, Any]:
        for shape in [schema, *schema.get("oneOf", []), *schema.get("anyOf", [])]:
            if name in self._resolved(shape).get("properties", {}):
                return self._resolved(shape)["properties"][name]
        more = schema.get("additionalProperties")
        return more if isinstance(more, dict) else {}

    def _typed(self, schema: Dict[str, Any], name: str, member: str) -> Any:
        schema = self._resolved(schema)
        kind: Optional[str] = schema.get("type")
        if "enum" in schema:
            return schema["enum"][0]
        if kind == "integer":
            return 1763712345 if member.endswith("At") else max(7, schema.get("minimum", 7))
        if kind == "boolean":
            return True
        if kind == "array":
            return []
        if kind == "object":
            return {key: self._typed(schema["properties"][key], f"the-{key}", key)
                    for key in schema.get("required", [])}
        shapes = schema.get("oneOf") or schema.get("anyOf")
        if shapes:
            return self._typed(shapes[0], name, member)
        return f"https://provider.example/{name}" if member in ADDRESS_MEMBERS else name
