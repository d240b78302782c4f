query='query Removed($since: DateTime!, $after: String) {
  tenant(id: 1) {
    removals(updatedSince: $since, after: $after) {
      nodes { resource recordId reason } nextCursor serverTime epoch
    }
  }
}'

# Writes the answer to the file "answer".
# While the service refuses requests, waits the seconds of Retry-After, and at least one second.
ask() {
  while true; do
    status=$(curl --silent --show-error --data "$1" \
      --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
      --header 'Content-Type: application/json' \
      --dump-header headers --output answer --write-out '%{http_code}' "$VOUCHER_GATEWAY_URL/graphql") || exit 1
    case $status in
      200) return ;;
      429 | 502 | 503 | 504)
        seconds=$(awk 'tolower($1) == "retry-after:" { s = int($2) } END { print (s > 1 && s < 10000 ? s : 1) }' headers)
        sleep "$seconds" ;;
      *) cat answer >&2; exit 1 ;;
    esac
  done
}

# The first argument is the bound: the time since which removals are read.
after=null
while true; do
  ask "$(jq --null-input --arg query "$query" --arg since "$1" --argjson after "$after" \
    '{$query, variables: {$since, $after}}')"
  jq --exit-status .data.tenant.removals answer >/dev/null || { cat answer >&2; exit 1; }
  jq --raw-output '.data.tenant.removals.nodes[] | "\(.resource) \(.recordId) \(.reason)"' answer
  after=$(jq .data.tenant.removals.nextCursor answer)
  [ "$after" != null ] || break
done
