import json
import os
from urllib.error import HTTPError
from urllib.request import Request, urlopen

request = Request(
    os.environ["VOUCHER_GATEWAY_URL"] + "/api/external/v1/tenants?updated_since=yesterday",
    headers={
        "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
        "Accept": "application/json",
    },
)
try:
    with urlopen(request) as response:
        print(json.load(response)["data"])
except HTTPError as error:
    body = json.load(error)
    print(error.code, body["message"])
    for field, messages in body.get("errors", {}).items():
        print(field, *messages)
    print("request", error.headers["X-Request-Id"])
