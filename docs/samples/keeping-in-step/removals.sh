# The first argument is the bound: the time since which removals are read.
query='query Removed($since: DateTime!, $after: String) {
  tenant(id: 1) {
    removals(updatedSince: $since, after: $after) {
      nodes { resource recordId reason } nextCursor serverTime epoch
    }
  }
}'
after=null
while true; do
  answer=$(jq --null-input --arg query "$query" --arg since "$1" --argjson after "$after" \
    '{$query, variables: {$since, $after}}' |
    curl --fail-with-body --silent --show-error --data @- \
      --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
      --header 'Content-Type: application/json' \
      "$VOUCHER_GATEWAY_URL/graphql") || exit 1
  jq --exit-status .data.tenant.removals <<<"$answer" >/dev/null || { echo "$answer" >&2; exit 1; }
  jq --raw-output '.data.tenant.removals.nodes[] | "\(.resource) \(.recordId) \(.reason)"' <<<"$answer"
  after=$(jq .data.tenant.removals.nextCursor <<<"$answer")
  [ "$after" != null ] || break
done
