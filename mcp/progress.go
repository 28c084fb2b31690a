package mcp

import "encoding/json"

// ProgressParams reports the progress of a request. Progress always increases;
// a Total of 0 means unknown.
type ProgressParams struct {
	ProgressToken json.RawMessage `json:"progressToken"` // a string or a number, from the request
	Progress      float64         `json:"progress"`
	Total         float64         `json:"total,omitzero"`
	Message       string          `json:"message,omitzero"`
	Meta          Meta            `json:"_meta,omitzero"`
}
