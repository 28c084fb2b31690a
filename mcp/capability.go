package mcp

import "encoding/json"

// An Implementation identifies a program that speaks the protocol. It is for
// display only.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Version     string `json:"version"`
	Description string `json:"description,omitzero"`
	WebsiteURL  string `json:"websiteUrl,omitzero"`
	Icons       []Icon `json:"icons,omitzero"`
}

// ClientCapabilities lists what a client supports. A nil field means that it
// does not.
type ClientCapabilities struct {
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	Roots        *RootsCapability           `json:"roots,omitzero"`
	Sampling     *SamplingCapability        `json:"sampling,omitzero"`
	Elicitation  *ElicitationCapability     `json:"elicitation,omitzero"`
	Extensions   map[string]json.RawMessage `json:"extensions,omitzero"`
}

// RootsCapability means that the client can list its roots.
type RootsCapability struct {
	ListChanged bool `json:"listChanged,omitzero"`
}

// SamplingCapability means that the client can sample its model.
type SamplingCapability struct {
	Context *struct{} `json:"context,omitzero"`
	Tools   *struct{} `json:"tools,omitzero"`
}

// ElicitationCapability means that the client can ask its user. If neither mode
// is set, forms are supported.
type ElicitationCapability struct {
	Form *struct{} `json:"form,omitzero"`
	URL  *struct{} `json:"url,omitzero"`
}

// HasForm reports whether the client can show its user a form.
func (c ClientCapabilities) HasForm() bool {
	return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// HasURL reports whether the client can send its user to a URL.
func (c ClientCapabilities) HasURL() bool {
	return c.Elicitation != nil && c.Elicitation.URL != nil
}

// ServerCapabilities lists what a server offers. A nil field means that it does
// not.
type ServerCapabilities struct {
	Experimental map[string]json.RawMessage `json:"experimental,omitzero"`
	Logging      *struct{}                  `json:"logging,omitzero"`
	Completions  *struct{}                  `json:"completions,omitzero"`
	Prompts      *PromptsCapability         `json:"prompts,omitzero"`
	Resources    *ResourcesCapability       `json:"resources,omitzero"`
	Tools        *ToolsCapability           `json:"tools,omitzero"`
	Extensions   map[string]json.RawMessage `json:"extensions,omitzero"`
}

// PromptsCapability means that the server has prompts.
type PromptsCapability struct {
	ListChanged bool `json:"listChanged,omitzero"`
}

// ResourcesCapability means that the server has resources.
type ResourcesCapability struct {
	Subscribe   bool `json:"subscribe,omitzero"`
	ListChanged bool `json:"listChanged,omitzero"`
}

// ToolsCapability means that the server has tools.
type ToolsCapability struct {
	ListChanged bool `json:"listChanged,omitzero"`
}
