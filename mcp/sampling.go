package mcp

import "encoding/json"

// SampleParams asks the client's model to continue a conversation.
type SampleParams struct {
	Messages         []SampleMessage   `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitzero"`
	SystemPrompt     string            `json:"systemPrompt,omitzero"`
	IncludeContext   string            `json:"includeContext,omitzero"` // "none", "thisServer" or "allServers"
	Temperature      *float64          `json:"temperature,omitzero"`
	MaxTokens        int               `json:"maxTokens"`
	StopSequences    []string          `json:"stopSequences,omitzero"`
	Metadata         json.RawMessage   `json:"metadata,omitzero"` // an object, for the model's provider
	Tools            []Tool            `json:"tools,omitzero"`
	ToolChoice       *ToolChoice       `json:"toolChoice,omitzero"`
	Meta             Meta              `json:"_meta,omitzero"`
}

// A SampleMessage is one turn of the conversation. Role is "user" or "assistant".
type SampleMessage struct {
	Role    string `json:"role"`
	Content Blocks `json:"content"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// ModelPreferences are preferences for the model; the client decides.
// Priorities range from 0 to 1.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitzero"` // the first match wins
	CostPriority         *float64    `json:"costPriority,omitzero"`
	SpeedPriority        *float64    `json:"speedPriority,omitzero"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitzero"`
}

// A ModelHint is part of a model's name.
type ModelHint struct {
	Name string `json:"name,omitzero"`
}

// ToolChoice says whether the model may or must use the tools.
type ToolChoice struct {
	Mode string `json:"mode,omitzero"` // "auto" (default), "required" or "none"
}

// SampleResult is the model's message.
type SampleResult struct {
	Role       string `json:"role"`
	Content    Blocks `json:"content"`
	Model      string `json:"model"`
	StopReason string `json:"stopReason,omitzero"` // "endTurn", "stopSequence", "maxTokens", "toolUse", or another
	Meta       Meta   `json:"_meta,omitzero"`
}
