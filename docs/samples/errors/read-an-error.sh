# --include shows the status and the headers, with X-Request-Id.
curl --silent --show-error --include \
  --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
  --header 'Accept: application/json' \
  "$VOUCHER_GATEWAY_URL/api/external/v1/tenants?updated_since=yesterday"
