query='query Sales($tenant: ID!, $period: PeriodInput!) {
  tenant(id: $tenant) {
    figures(period: $period, by: MONTH, withDescendants: true) {
      asOf
      timeZone
      periods { from to sales { currency vouchers paid redeemed voided } }
      topProducts(first: 2) { title currency vouchers paid }
      expiring(withinDays: 30) { currency vouchers balance }
    }
  }
}'
variables='{"tenant": 1, "period": {"from": "2026-09-01", "to": "2026-10-31"}}'
jq --null-input --arg query "$query" --argjson variables "$variables" '{$query, $variables}' |
  curl --fail-with-body --silent --show-error \
    --header "Authorization: Bearer $VOUCHER_GATEWAY_TOKEN" \
    --header 'Content-Type: application/json' \
    --data @- "$VOUCHER_GATEWAY_URL/graphql"
