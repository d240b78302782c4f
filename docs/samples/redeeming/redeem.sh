# This is the till: it resolves the voucher at the gateway, and redeems a part of it at the platform.
resolution=$(curl --fail-with-body --silent --show-error \
  --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
  --header 'Accept: application/json' \
  --header 'Content-Type: application/json' \
  --data '{"voucher_reference": "GIFT-LMAD-KFNK"}' \
  "$VOUCHER_GATEWAY_URL/api/external/v1/tenants/1/redemptions/resolve")

jq '{redemption_token: .data.redemption_token, amount: 12.5}' <<<"$resolution" |
  curl --fail-with-body --silent --show-error \
    --header 'Content-Type: application/json' \
    --data @- \
    "$PLATFORM_URL/redeem"
