package mcp

import "encoding/json"

// ProgressParams says how far a request has come. Progress only ever grows;
// a Total of 0 means that the end is not known.
type ProgressParams struct {
	ProgressToken json.RawMessage `json:"progressToken"` // a string or a number, as the request gave it
	Progress      float64         `json:"progress"`
	Total         float64         `json:"total,omitzero"`
	Message       string          `json:"message,omitzero"`
	Meta          Meta            `json:"_meta,omitzero"`
}
