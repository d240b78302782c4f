list="$VOUCHER_GATEWAY_URL/api/external/v1/tenants/1/sales/purchased-vouchers"
cursor=
while true; do
  page=$(curl --fail-with-body --silent --show-error --get "$list" \
    --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
    --header 'Accept: application/json' \
    --data-urlencode "cursor=$cursor") || exit 1
  jq --raw-output '.data[] | "\(.id) \(.reference)"' <<<"$page"
  cursor=$(jq --raw-output '.next_cursor // ""' <<<"$page")
  [ -n "$cursor" ] || break
done
