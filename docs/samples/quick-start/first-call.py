import json
import os
from urllib.request import Request, urlopen

request = Request(
    os.environ["VOUCHER_GATEWAY_URL"] + "/api/external/v1/tenants",
    headers={
        "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
        "Accept": "application/json",
    },
)
with urlopen(request) as response:
    page = json.load(response)

for tenant in page["data"]:
    print(tenant["tenant_id"], tenant["name"])
