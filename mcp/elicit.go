package mcp

import "encoding/json"

// ElicitParams asks a person something through the client: a form to fill in,
// described by RequestedSchema, or with Mode "url" a page to visit.
type ElicitParams struct {
	Mode            string          `json:"mode,omitzero"` // "form", also when empty, or "url"
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitzero"`
	URL             string          `json:"url,omitzero"`
	ElicitationID   string          `json:"elicitationId,omitzero"`
}

// ElicitResult is what the person did. Content is there only for a form that
// was accepted. Accepting a URL means consent to visit it, not that it is done.
type ElicitResult struct {
	Action  string          `json:"action"` // "accept", "decline" or "cancel"
	Content json.RawMessage `json:"content,omitzero"`
	Meta    Meta            `json:"_meta,omitzero"`
}
