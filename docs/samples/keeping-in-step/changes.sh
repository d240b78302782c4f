# Writes the answer to the file "answer".
# While the service refuses requests, waits the seconds of Retry-After, and at least one second.
get() {
  while true; do
    status=$(curl --silent --show-error --get "$@" \
      --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
      --header 'Accept: application/json' \
      --dump-header headers --output answer --write-out '%{http_code}') || exit 1
    case $status in
      200) return ;;
      429 | 502 | 503 | 504)
        seconds=$(awk 'tolower($1) == "retry-after:" { s = int($2) } END { print (s > 1 && s < 10000 ? s : 1) }' headers)
        sleep "$seconds" ;;
      *) cat answer >&2; exit 1 ;;
    esac
  done
}

list="$VOUCHER_GATEWAY_URL/api/external/v1/tenants/1/sales/purchased-vouchers"
# The copy: the vouchers by id, the bound, and the cursor while a round has not ended.
[ -e copy.json ] || echo '{"bound": "", "cursor": null, "vouchers": {}}' >copy.json
while true; do
  next=$(jq --raw-output 'if .cursor then "cursor=\(.cursor)" else "updated_since=\(.bound)" end' copy.json)
  get "$list" --data-urlencode "$next"
  # Replaces the file: the records, the cursor and the bound are stored in one step.
  jq --slurpfile pages answer '$pages[0] as $page
    | if .cursor then . else .bound = $page.server_time end
    | .cursor = $page.next_cursor
    | .vouchers += ($page.data | INDEX(.id))' copy.json >copy.json.new && mv copy.json.new copy.json || exit 1
  jq --raw-output '.data[] | "\(.id) \(.reference) \(.current_balance // "-")"' answer
  jq --exit-status .cursor copy.json >/dev/null || break
done
