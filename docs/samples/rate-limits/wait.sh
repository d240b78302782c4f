# curl waits as Retry-After says, and repeats the request up to five times.
curl --fail --silent --retry 5 \
  --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
  --header 'Accept: application/json' \
  "$VOUCHER_GATEWAY_URL/api/external/v1/tenants/1/sales/purchased-vouchers"
