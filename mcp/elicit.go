package mcp

import "encoding/json"

// ElicitParams asks the client's user to fill in a form, described by
// RequestedSchema, or with Mode "url" to visit a page.
type ElicitParams struct {
	Mode            string          `json:"mode,omitzero"` // "form" (default) or "url"
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitzero"`
	URL             string          `json:"url,omitzero"`
	ElicitationID   string          `json:"elicitationId,omitzero"`
}

// ElicitResult is the user's response. Content is present only for an accepted
// form. Accepting a URL means consent to visit it, not that the visit is
// complete.
type ElicitResult struct {
	Action  string          `json:"action"` // "accept", "decline" or "cancel"
	Content json.RawMessage `json:"content,omitzero"`
	Meta    Meta            `json:"_meta,omitzero"`
}
