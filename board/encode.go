package board

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// encode returns a value of this package as JSON, for decode and for hash.
func encode(v any) string {
	b, err := json.Marshal(v, json.OmitZeroStructFields(true), json.Deterministic(true),
		jsonv1.FormatDurationAsNano(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("board: " + err.Error()) // only our own types are encoded
	}
	return string(b)
}

// decode reads what encode wrote.
func decode(s string, v any) error { return json.Unmarshal([]byte(s), v) }

// hash returns a hash of a request, to recognize a repeated one.
func hash(v any) string {
	sum := sha256.Sum256([]byte(encode(v)))
	return hex.EncodeToString(sum[:16])
}
