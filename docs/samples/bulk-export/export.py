import json
import os
import re
import time
from http.client import IncompleteRead
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

EXPORT = os.environ["VOUCHER_GATEWAY_URL"] + "/api/external/export/v1/tenants/1/purchased-vouchers"
HEADERS = {
    "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
    "Accept": "application/x-ndjson",
}

bound = cursor = None
is_whole = False
with open("vouchers.ndjson", "wb") as copy:
    while not is_whole:
        query = "?" + urlencode({"cursor": cursor}) if cursor else ""
        try:
            with urlopen(Request(EXPORT + query, headers=HEADERS)) as response:
                for text in response:
                    line = json.loads(text)
                    if "id" in line:
                        copy.write(text)
                    elif "cursor" in line:
                        cursor = line["cursor"]
                    elif "end" in line:
                        is_whole = True
                    elif bound is None:
                        bound = line["server_time"]
            if not is_whole:
                time.sleep(1)
        except HTTPError as error:
            if error.code not in (429, 502, 503, 504):
                raise
            seconds = re.fullmatch(r"\d{1,4}", error.headers.get("Retry-After", ""))
            time.sleep(max(1, int(seconds[0]) if seconds else 1))
        except (URLError, ConnectionError, IncompleteRead, json.JSONDecodeError):
            # There was no connection, or it broke. The next request continues after the last cursor.
            time.sleep(1)
print("next bound", bound)
