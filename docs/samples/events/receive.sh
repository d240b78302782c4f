# Tries out a receiver: signs an event as the service does, and sends it. The first argument is the body; default: a
# test.
body=${1:-'{"type":"test"}'}
id="evt_$(openssl rand -hex 16)"
time=$(date +%s)

# The key is the decoded base64 of the secret.
key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | base64 --decode | od -An -v -tx1 | tr -d ' \n')
signature=$(printf '%s.%s.%s' "$id" "$time" "$body" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)

curl --fail-with-body --silent --show-error --write-out '%{http_code}\n' \
  --header "webhook-id: $id" \
  --header "webhook-timestamp: $time" \
  --header "webhook-signature: v1,$signature" \
  --header 'Content-Type: application/json' \
  --data-raw "$body" \
  "${RECEIVER_URL:-http://127.0.0.1:8091/}"
