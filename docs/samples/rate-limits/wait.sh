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

get "$VOUCHER_GATEWAY_URL/api/external/v1/tenants/1/sales/purchased-vouchers"
cat answer
