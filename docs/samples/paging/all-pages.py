import json
import os
import re
import time
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

LIST = os.environ["VOUCHER_GATEWAY_URL"] + "/api/external/v1/tenants/1/sales/purchased-vouchers"
HEADERS = {
    "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
    "Accept": "application/json",
}


def get(query):
    """While the service refuses requests, waits the seconds of Retry-After, and at least one second."""
    request = Request(LIST + "?" + urlencode(query), headers=HEADERS)
    while True:
        try:
            with urlopen(request) as response:
                return json.load(response)
        except HTTPError as error:
            if error.code not in (429, 502, 503, 504):
                raise
            seconds = re.fullmatch(r"\d{1,4}", error.headers.get("Retry-After", ""))
            time.sleep(max(1, int(seconds[0]) if seconds else 1))


query = {}
while True:
    page = get(query)
    for voucher in page["data"]:
        print(voucher["id"], voucher["reference"])
    if page["next_cursor"] is None:
        break
    query = {"cursor": page["next_cursor"]}
