"""The words of `einlass --pseudo-language`, for a test that plays einlass itself."""
import re
import string
from typing import Any

ACCENTS = str.maketrans(string.ascii_letters, "áƀćďéƒǵĥíĵķĺḿńóṕɋŕśţúṽŵẋýźÁɃĆĎÉƑǴĤÍĴĶĹḾŃÓṔɊŔŚŢÚṼŴẊÝŹ")


def pseudo(text: str) -> str:
    """Returns the text with an accent on each letter, in brackets. A quoted text stays, because it is another's."""
    parts = re.split("(“[^”]*”)", text)
    words = "".join(part if part.startswith("“") else part.translate(ACCENTS) for part in parts)
    return f"[{words}]"


def shown(value: Any) -> Any:
    """Returns `show`, or a part of it, in the pseudo-language. The label of a choice stays, because it is another's."""
    if isinstance(value, str):
        return pseudo(value)
    if isinstance(value, list):
        return [shown(element) for element in value]
    same = ("page", "code", "answer", "name", "type", "twice", "action", "default") + (
        ("label", "detail") if "answer" in value else ())
    return {name: member if name in same else shown(member) for name, member in value.items()}
