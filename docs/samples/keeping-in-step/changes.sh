# Prints what changed since the bound in the file "bound", and writes the next bound.
list="$VOUCHER_GATEWAY_URL/api/external/v1/tenants/1/sales/purchased-vouchers"
since=$(cat bound 2>/dev/null)
cursor=
next=
while true; do
  page=$(curl --fail-with-body --silent --show-error --get "$list" \
    --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
    --header 'Accept: application/json' \
    --data-urlencode "updated_since=$since" \
    --data-urlencode "cursor=$cursor") || exit 1
  jq --raw-output '.data[] | "\(.id) \(.reference) \(.current_balance // "-")"' <<<"$page"
  [ -n "$next" ] || next=$(jq --raw-output .server_time <<<"$page")
  cursor=$(jq --raw-output '.next_cursor // ""' <<<"$page")
  [ -n "$cursor" ] || break
done
echo "$next" >bound
