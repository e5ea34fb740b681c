"""Signatures with oauthlib: prints the seconds for this many signed requests."""

import sys
import time

from oauthlib.oauth1 import Client

client = Client("application", client_secret="applicationsecret", resource_owner_key="1001-token",
                resource_owner_secret="tokensecret")
begin = time.perf_counter()
for _ in range(int(sys.argv[1])):
    client.sign("https://api.example.org/1.1/statuses/update.json?status=hello%20world", http_method="POST")
print(time.perf_counter() - begin)
