/** Programs that verify a request. Each reads the secret from `WEBHOOK_SECRET` and the body as received. */
export const verificationSamples = {
  node: `import { createHmac, timingSafeEqual } from 'node:crypto';

// headers: names in lower case; body: the bytes as received
export function isGenuine(headers, body) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const secret = process.env.WEBHOOK_SECRET;
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const expected = createHmac('sha256', key).update(\`\${id}.\${timestamp}.\`).update(body).digest();
  return headers['webhook-signature'].split(' ').some((signature) => {
    const given = Buffer.from(signature.replace('v1,', ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
`,
  python: `import base64, hashlib, hmac, os, time

# headers: names in lower case; body: the bytes as received
def is_genuine(headers, body):
    message_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        return False
    secret = os.environ["WEBHOOK_SECRET"]
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    content = f"{message_id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(expected, given) for given in headers["webhook-signature"].split(" "))
`,
  go: `package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// IsGenuine verifies a request by its headers and its body as received.
func IsGenuine(header http.Header, body []byte) bool {
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)).Abs(); err != nil || age > 5*time.Minute {
		return false
	}
	secret := os.Getenv("WEBHOOK_SECRET")
	key := []byte(secret)
	if encoded, found := strings.CutPrefix(secret, "whsec_"); found {
		key, _ = base64.StdEncoding.DecodeString(encoded)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Fields(header.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(given), []byte(expected)) {
			return true
		}
	}
	return false
}
`,
  curl: `# Sends a signed request to your own receiver.
URL=http://127.0.0.1:8000/hook
BODY='{"body":"{}","method":"POST"}'
ID=msg_test; NOW=$(date +%s)
case "$WEBHOOK_SECRET" in
  whsec_*) decode() { printf %s "\${WEBHOOK_SECRET#whsec_}" | base64 -d; } ;;
  *) decode() { printf %s "$WEBHOOK_SECRET"; } ;;
esac
KEY=$(decode | od -An -vtx1 | tr -d ' \\n')
SIGNATURE=$(printf %s "$ID.$NOW.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | base64)
curl -X POST "$URL" -H "Content-Type: application/json" -H "Webhook-Id: $ID" \\
  -H "Webhook-Timestamp: $NOW" -H "Webhook-Signature: v1,$SIGNATURE" \\
  -H "X-Webhook-Secret: $WEBHOOK_SECRET" --data-raw "$BODY"
`,
} as const;

export type SampleLanguage = keyof typeof verificationSamples;
export const sampleLanguages = Object.keys(verificationSamples) as SampleLanguage[];
export const sampleNames: Readonly<Record<SampleLanguage, string>> = {
  node: 'Node',
  python: 'Python',
  go: 'Go',
  curl: 'curl',
};
