# Writes the records to vouchers.ndjson, and prints the first and the last line. After a break, begin again.
curl --fail-with-body --silent --show-error --compressed \
  --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
  --header 'Accept: application/x-ndjson' \
  --output export.ndjson \
  "$VOUCHER_GATEWAY_URL/api/external/export/v1/tenants/1/purchased-vouchers" || exit 1
tail -n 1 export.ndjson | jq --exit-status .end >/dev/null || { echo 'The export is not whole.' >&2; exit 1; }
jq --compact-output 'select(has("id"))' export.ndjson >vouchers.ndjson
head -n 1 export.ndjson
tail -n 1 export.ndjson
