curl --fail-with-body --silent --show-error \
  --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
  --header 'Accept: application/json' \
  --header 'Content-Type: application/json' \
  --data '{"voucher_reference": "GIFT-LMAD-KFNK"}' \
  "$VOUCHER_GATEWAY_URL/api/external/v1/tenants/1/redemptions/resolve"
