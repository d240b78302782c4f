curl --fail-with-body --silent --show-error \
  --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
  --header 'Accept: application/json' \
  "$VOUCHER_GATEWAY_URL/api/external/v1/tenants"
