package push

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/auth"
)

// The headers of a webhook, see https://www.standardwebhooks.com.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// A payload is the body of a webhook.
type payload struct {
	Type      string      `json:"type"`
	Timestamp time.Time   `json:"timestamp"`
	Data      payloadData `json:"data"`
}

type payloadData struct {
	Project  string `json:"project,omitzero"`
	Task     string `json:"task,omitzero"`
	Seq      int64  `json:"seq,omitzero"`
	Question string `json:"question,omitzero"`
	Attempt  int    `json:"attempt,omitzero"`
	From     string `json:"from,omitzero"`
	To       string `json:"to,omitzero"`
	URL      string `json:"url,omitzero"`
	// The rest is task text.
	Title   string   `json:"title,omitzero"`
	Text    string   `json:"text,omitzero"`
	Options []string `json:"options,omitzero"`
}

// webhookKey returns the bytes of a webhook's secret.
func webhookKey(secret auth.Secret) ([]byte, error) {
	text, ok := strings.CutPrefix(secret.Reveal(), secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, invalid("the secret is not %s and 24 to 64 bytes in base64", secretPrefix)
	}
	return key, nil
}

// signature returns the value of webhook-signature.
func signature(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// webhookRequest returns the signed request of a delivery.
func webhookRequest(t *Target, id string, p payload, now time.Time) (*http.Request, error) {
	key, err := webhookKey(t.Secret)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(headerID, id)
	r.Header.Set(headerTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(headerSignature, signature(key, id, now, body))
	return r, nil
}
