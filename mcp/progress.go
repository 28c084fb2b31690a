package mcp

import "encoding/json"

// Progress is the progress of a request. It always increases. A Total of 0
// means that it is unknown.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitzero"`
	Message  string  `json:"message,omitzero"`
	Meta     Meta    `json:"_meta,omitzero"`
}

// progressParams are the params of a progress notification.
type progressParams struct {
	Token    json.RawMessage `json:"progressToken"` // a string or a number, from the request
	Progress                 // inlined
}
